import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { parseCompose, schemaProblems } from './compose-file.ts'
import { DEPLOY, ROOT, readDeployFile } from './deploy-files.ts'

/** What can be said of the files without Prometheus; `npm run test:system` has a real one read them. */

interface Rule {
  readonly record?: string
  readonly alert?: string
  readonly expr: string
  readonly labels?: { readonly severity: string }
}

interface AlertCase {
  readonly alert_rule_test: readonly { readonly alertname: string; readonly exp_alerts: readonly object[] }[]
}

const RULES = 'prometheus/rules'
const rules = readdirSync(join(DEPLOY, RULES)).flatMap((name) => {
  const { groups } = parse(readDeployFile(`${RULES}/${name}`)) as { groups: { rules: Rule[] }[] }
  return groups.flatMap((group) => group.rules)
})
const alerts = rules.filter(({ alert }) => alert !== undefined)
const page = readFileSync(join(ROOT, 'docs/operations.md'), 'utf8')
const dashboard = readDeployFile('grafana/dashboards/foothold.json')
/** The page is held equal to the code by a test of the engine. */
const exported = new Set(
  [...page.matchAll(/^\| `(foothold_[a-z_]+)` +\| (counter|gauge|histogram) /gm)].map(([, name]) => name),
)

function metricsIn(text: string): readonly string[] {
  const names = [...text.matchAll(/\bfoothold_[a-z_]+/g)].map(([name]) => name)
  return names.map((name) => (exported.has(name) ? name : name.replace(/_(bucket|sum|count)$/, '')))
}

describe('alerts', () => {
  test('each has a case in which it fires and one in which it keeps still', () => {
    const { tests } = parse(readDeployFile('prometheus/tests/alerts.yml')) as { tests: AlertCase[] }
    const cases = tests.flatMap((each) => each.alert_rule_test)
    const tried = (fires: boolean): Set<string> =>
      new Set(cases.filter((each) => each.exp_alerts.length > 0 === fires).map(({ alertname }) => alertname))

    const names = new Set(alerts.map(({ alert }) => alert))
    expect(names.size).toBeGreaterThan(10)
    expect(tried(true)).toEqual(names)
    expect(tried(false)).toEqual(names)
  })

  test('each has its line on the page that is read at night, with its severity', () => {
    const rows = [...page.matchAll(/^\| `(Foothold\w+)` +\| (page|ticket) /gm)]
    const lines = rows.map(([, name, severity]) => [name, severity] as const)

    const severities = alerts.map(({ alert, labels }) => [alert, labels?.severity] as const)
    expect(new Map(lines)).toEqual(new Map(severities))
    expect(lines).toHaveLength(alerts.length)
  })
})

test('rules and dashboard ask for metrics that are exported, and for nothing else of ours', () => {
  const asked = [...rules.map(({ expr }) => expr), dashboard].flatMap(metricsIn)
  const recorded = new Set(rules.flatMap(({ record }) => record ?? []))
  const used = rules.flatMap(({ expr }) => [...expr.matchAll(/\bfoothold:[a-z0-9_:]+/g)].map(([name]) => name))

  expect(exported.size).toBeGreaterThan(15)
  expect(asked.filter((name) => !exported.has(name))).toEqual([])
  expect(used.filter((name) => !recorded.has(name))).toEqual([])
})

test('the dashboard names no data source of anybody, and marks releases', () => {
  const { uid, templating, annotations } = JSON.parse(dashboard) as {
    uid: string
    templating: { list: { name: string; type: string }[] }
    annotations: { list: { expr: string; titleFormat: string }[] }
  }
  const sources = [...dashboard.matchAll(/"type": "prometheus",\s+"uid": "([^"]+)"/g)].map(([, source]) => source)

  expect(uid).toBe('foothold')
  expect(templating.list).toContainEqual(expect.objectContaining({ name: 'datasource', type: 'datasource' }))
  // biome-ignore lint/suspicious/noTemplateCurlyInString: a variable of Grafana
  expect(new Set(sources)).toEqual(new Set(['${datasource}']))
  expect(annotations.list.map(({ titleFormat }) => titleFormat)).toEqual(['release {{release}}'])
})

describe('compose.monitoring.yaml', () => {
  const compose = parseCompose(readDeployFile('compose.monitoring.yaml'))

  test('holds to the Compose Specification, and opens ports to this machine alone', () => {
    expect(schemaProblems(compose)).toEqual([])
    const ports = Object.values(compose.services).flatMap((each) => each.ports ?? [])
    expect(ports.length).toBeGreaterThan(0)
    for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/)
  })

  test('every folder that it mounts is there', () => {
    const folders = Object.values(compose.services).flatMap((each) => each.volumes ?? [])
    const ours = folders.filter((volume) => volume.startsWith('./')).map((volume) => volume.split(':')[0] as string)

    expect(ours.length).toBeGreaterThan(3)
    for (const folder of ours) expect(existsSync(join(DEPLOY, folder))).toBe(true)
  })

  test('Prometheus scrapes every process of compose.yaml, at the port where it answers', () => {
    const { services } = parseCompose(readDeployFile('compose.yaml'))
    const { scrape_configs } = parse(readDeployFile('prometheus/prometheus.yml')) as {
      scrape_configs: { static_configs: { targets: string[] }[] }[]
    }
    const targets = scrape_configs.flatMap((job) => job.static_configs.flatMap((each) => each.targets))
    const answering = Object.entries(services).flatMap(([name, { environment = {} }]) => {
      const port = environment['OPERATIONS_PORT'] ?? environment['PORT']
      return port === undefined ? [] : [`${name}:${port}`]
    })

    expect(targets.toSorted()).toEqual(answering.toSorted())
  })
})
