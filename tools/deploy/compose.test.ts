import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type ComposeService, parseCompose, schemaProblems } from './compose-file.ts'
import { DEPLOY, durationMs, engineGraceMs, readDeployFile } from './deploy-files.ts'
import { instructionsOf, lastOf, parseDockerfile } from './dockerfile.ts'
import { swallowerOf } from './dockerfile-problems.ts'
import { heapShare } from './memory.ts'

const text = readDeployFile('compose.yaml')
const compose = parseCompose(text)
const stages = parseDockerfile(readDeployFile('Dockerfile'))
/** What the last writes of a drain take at most, when the database answers. */
const LAST_WRITES_MS = 1_000

const ours = Object.entries(compose.services).filter(([name]) => name !== 'postgres')
const workers = ours.filter(([name]) => name.startsWith('worker-'))

function service(name: string): ComposeService {
  const found = compose.services[name]
  if (found === undefined) throw new Error(`compose.yaml has no service ${name}`)
  return found
}

describe('the file is one that Compose takes', () => {
  test('it holds to the Compose Specification', () => {
    expect(schemaProblems(compose)).toEqual([])
  })

  test.each([
    ['stop_grace_period: 8s', 'stop_grace_periode: 8s', 'stop_grace_periode'],
    ['condition: service_healthy', 'condition: service_ready', '/depends_on/postgres'],
    ['read_only: true', 'read_only: [1]', '/read_only'],
    ['    healthcheck:', '    healthchecks:', 'healthchecks'],
  ])('with a mistake in it (%s became %s) it is refused', (right, wrong, place) => {
    const broken = text.replace(right, wrong)

    expect(broken).not.toBe(text)
    expect(schemaProblems(parseCompose(broken)).join('\n')).toContain(place)
  })

  test('every file and target that it names is there', () => {
    for (const [, { build, env_file }] of ours) {
      expect(existsSync(join(DEPLOY, build?.context ?? '', build?.dockerfile ?? ''))).toBe(true)
      expect(stages.map(({ name }) => name)).toContain(build?.target)
      expect(existsSync(join(DEPLOY, `${env_file}.example`))).toBe(true)
    }
    expect(existsSync(join(DEPLOY, `${service('postgres').env_file}.example`))).toBe(true)
  })
})

describe('a deploy loses nothing', () => {
  test('two workers are two services, so that one can be replaced while the other works', () => {
    expect(workers.map(([name]) => name)).toEqual(['worker-a', 'worker-b'])
    for (const [, worker] of workers) expect(worker.deploy).toBeUndefined()
  })

  test('a worker has handed over before Compose kills it', () => {
    expect(workers).toHaveLength(2)
    for (const [, { stop_grace_period = '0s' }] of workers) {
      expect(engineGraceMs() + LAST_WRITES_MS).toBeLessThan(durationMs(stop_grace_period))
    }
  })

  test('each program runs the command of its image, with nothing in between that swallows signals', () => {
    expect(ours.length).toBeGreaterThanOrEqual(3)
    for (const [, { command, build, init, entrypoint }] of ours) {
      expect(command).toEqual(lastOf(instructionsOf(stages, build?.target ?? ''), 'CMD')?.exec)
      expect(swallowerOf(command as readonly string[])).toEqual([])
      expect(init).toBe(true)
      expect(entrypoint).toBeUndefined()
    }
  })

  test('nothing starts before PostgreSQL answers by TCP', () => {
    for (const [, { depends_on }] of ours) expect(depends_on?.['postgres']?.condition).toBe('service_healthy')
    expect(service('postgres').healthcheck?.test).toEqual(expect.arrayContaining(['pg_isready', '-h', '127.0.0.1']))
    expect(service('postgres').volumes).toContain('postgres-data:/var/lib/postgresql/data')
    expect(compose.volumes).toHaveProperty('postgres-data')
  })
})

describe('a container has what it needs and no more', () => {
  test('ports are open to this machine alone', () => {
    const ports = Object.values(compose.services).flatMap((each) => each.ports ?? [])

    expect(ports.length).toBeGreaterThan(0)
    for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/)
  })

  test('the file holds no secret, and the process that the network reaches gets no key of a service', () => {
    for (const each of Object.values(compose.services)) {
      expect(Object.keys(each.environment ?? {}).join()).not.toMatch(/PASSWORD|TOKEN|CREDENTIALS|CRM_URL|DATABASE_URL/)
    }
    expect(readDeployFile('server.env.example')).not.toMatch(/GIGACHAT|CRM|TELEGRAM/)
  })

  test('programs cannot write to their own files, and V8 collects before the kernel kills', () => {
    for (const [, { read_only, mem_limit, environment }] of ours) {
      expect(read_only).toBe(true)
      expect(heapShare(environment?.['NODE_OPTIONS'], mem_limit)).toBeCloseTo(0.75, 1)
    }
  })
})
