import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import type { IDeployment } from 'kubernetes-models/apps/v1/Deployment'
import { describe, expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { DEPLOY, engineGraceMs, readDeployFile } from './deploy-files.ts'
import { type Manifest, readManifests, validateManifest } from './manifests.ts'
import { heapShare } from './memory.ts'

const manifests = readManifests()
/** Answers under way when the server is told to stop. */
const SERVER_GRACE_MS = 5_000
const LAST_WRITES_MS = 1_000
const KUBECTL = 'kubectl'

function deployment(name: 'server' | 'worker') {
  const found = manifests.get(`${name}-deployment.yaml`) as IDeployment | undefined
  const pod = found?.spec?.template.spec
  const container = pod?.containers[0]
  if (found?.spec === undefined || pod == null || container === undefined) throw new Error(`${name} has no pod`)
  return { spec: found.spec, pod, container }
}

function hasKubectl(): boolean {
  try {
    execFileSync(KUBECTL, ['version', '--client'], { stdio: 'ignore' })
    return true
  } catch {
    console.warn('skipped: kubectl is not installed, so no kustomization is rendered')
    return false
  }
}

describe('the manifests are ones that Kubernetes takes', () => {
  test.each([...manifests.keys()])('%s holds to the schema of its kind', (name) => {
    expect(() => validateManifest(manifests.get(name) as Manifest)).not.toThrow()
  })

  test.each([
    ['worker-deployment.yaml', 'terminationGracePeriodSeconds: 10', 'terminationGracePeriodSeconds: ten'],
    ['worker-deployment.yaml', 'readOnlyRootFilesystem: true', 'readOnlyRootFilesystem: "yes"'],
    ['server-deployment.yaml', 'containerPort: 4400', 'containerPort: http'],
    ['worker-disruption-budget.yaml', 'matchLabels:', 'matchLabels: worker #'],
    ['server-service.yaml', 'port: 80', 'port: eighty'],
  ])('%s with a mistake in it (%s became %s) is refused', (name, right, wrong) => {
    const text = readDeployFile(`kubernetes/${name}`)
    const broken = text.replace(right, wrong)

    expect(broken).not.toBe(text)
    expect(() => validateManifest(parseAllDocuments(broken)[0]?.toJS() as Manifest)).toThrow()
  })

  test('the kustomization lists every manifest there is', () => {
    const { resources } = parse(readDeployFile('kubernetes/kustomization.yaml')) as { resources: string[] }

    expect(resources.toSorted()).toEqual([...manifests.keys()].toSorted())
  })

  test.runIf(hasKubectl())('kustomize renders them all, and the result still holds', () => {
    const rendered = execFileSync(KUBECTL, ['kustomize', join(DEPLOY, 'kubernetes')], { encoding: 'utf8' })
    const documents = parseAllDocuments(rendered).map((document) => document.toJS() as Manifest)

    expect(documents).toHaveLength(manifests.size)
    for (const document of documents) expect(() => validateManifest(document)).not.toThrow()
  })
})

describe('a roll-out or a drained node loses nothing', () => {
  test('a worker has handed over, and a server has answered, before Kubernetes kills them', () => {
    const { pod: worker, container } = deployment('worker')
    const server = deployment('server')
    const [, preStopS] = server.container.lifecycle?.preStop?.exec?.command ?? []

    expect(container.lifecycle).toBeUndefined()
    expect(engineGraceMs() + LAST_WRITES_MS).toBeLessThan(1_000 * (worker.terminationGracePeriodSeconds ?? 0))
    expect(1_000 * Number(preStopS) + SERVER_GRACE_MS).toBeLessThan(
      1_000 * (server.pod.terminationGracePeriodSeconds ?? 0),
    )
  })

  test.each(['server', 'worker'] as const)(
    'a %s is replaced only when its successor is ready, and one always stays',
    (name) => {
      const { spec, container } = deployment(name)
      const budget = manifests.get(`${name}-disruption-budget.yaml`) as unknown as {
        spec: { minAvailable: number; selector: unknown }
      }

      expect(spec.strategy?.rollingUpdate).toEqual({ maxUnavailable: 0, maxSurge: 1 })
      expect(container.readinessProbe).toBeDefined()
      expect(budget.spec.minAvailable).toBeLessThan(spec.replicas ?? 1)
      expect(budget.spec.selector).toEqual(spec.selector)
      expect(spec.template.metadata?.labels).toMatchObject(spec.selector.matchLabels ?? {})
    },
  )

  test('an outage of the database restarts nothing', () => {
    expect(deployment('server').container.livenessProbe?.httpGet?.path).toBe('/healthz')
    expect(deployment('server').container.readinessProbe?.httpGet?.path).toBe('/readyz')
    expect(deployment('worker').container.livenessProbe?.httpGet?.path).toBe('/healthz')
    expect(deployment('worker').container.readinessProbe?.httpGet?.path).toBe('/readyz')
  })

  test('probes and Prometheus come to the port on which the process listens', () => {
    for (const name of ['server', 'worker'] as const) {
      const { spec, container } = deployment(name)
      const port = container.ports?.[0]
      const variable = name === 'server' ? 'PORT' : 'OPERATIONS_PORT'

      expect(String(port?.containerPort)).toBe(container.env?.find((each) => each.name === variable)?.value)
      expect([container.livenessProbe?.httpGet?.port, container.readinessProbe?.httpGet?.port]).toEqual([
        port?.name,
        port?.name,
      ])
      expect(spec.template.metadata?.annotations).toMatchObject({
        'prometheus.io/port': String(port?.containerPort),
        'prometheus.io/path': '/metrics',
      })
    }
  })

  test('the start command is the image’s own, so that it is written and tested in one place', () => {
    for (const { container } of [deployment('server'), deployment('worker')]) {
      expect([container.command, container.args]).toEqual([undefined, undefined])
    }
  })
})

describe('a pod has what it needs and no more', () => {
  test.each(['server', 'worker'] as const)(
    'the %s is not root, writes to /tmp alone and holds no right of the cluster',
    (name) => {
      const { pod, container } = deployment(name)

      expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } })
      expect(pod.securityContext?.runAsUser).toBeGreaterThan(0)
      expect(pod.automountServiceAccountToken).toBe(false)
      expect(container.securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      })
      const written = container.volumeMounts
        ?.filter(({ readOnly }) => readOnly !== true)
        .map(({ mountPath }) => mountPath)
      expect(written).toEqual(['/tmp'])
    },
  )

  test.each(['server', 'worker'] as const)('the %s has bounds, and V8 collects before the kernel kills', (name) => {
    const { container } = deployment(name)
    const options = container.env?.find((variable) => variable.name === 'NODE_OPTIONS')?.value
    const memory = String(container.resources?.limits?.['memory'])

    expect(container.resources?.requests).toHaveProperty('cpu')
    expect(heapShare(options, memory)).toBeCloseTo(0.75, 1)
  })

  test('no manifest holds a secret, and the server gets none of the services’ keys', () => {
    const { container } = deployment('server')
    const secrets = container.env?.flatMap(({ valueFrom }) => valueFrom?.secretKeyRef?.key ?? [])

    expect([...manifests.values()].map(({ kind }) => kind)).not.toContain('Secret')
    expect(container.envFrom).toBeUndefined()
    expect(secrets).toEqual(['DATABASE_URL', 'FOOTHOLD_TOKEN', 'FOOTHOLD_METRICS_TOKEN'])
  })
})
