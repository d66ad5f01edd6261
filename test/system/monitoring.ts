import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parse, stringify } from 'yaml'
import { freePorts } from '../../tools/free-ports.ts'
import { startProgram } from './debian-programs.ts'

/** A real Prometheus and Alertmanager with the files of deploy/: other addresses, and seconds for minutes of pace. */
export interface Monitoring {
  /** The result of an expression, now. */
  query(expression: string): Promise<readonly QueryResult[]>
  alerts(): Promise<readonly Alert[]>
  targets(): Promise<readonly { readonly health: string; readonly lastError: string }[]>
  /** What Alertmanager sent to the receiver of pages, in order. */
  readonly pages: readonly Page[]
  stop(): Promise<void>
}

export interface QueryResult {
  readonly metric: Readonly<Record<string, string>>
  readonly value: readonly [number, string]
}

export interface Alert {
  readonly labels: Readonly<Record<string, string>>
  readonly state: 'pending' | 'firing'
}

export interface Page {
  readonly status: 'firing' | 'resolved'
  readonly groupLabels: Readonly<Record<string, string>>
  readonly alerts: readonly { readonly status: string; readonly labels: Readonly<Record<string, string>> }[]
}

export const DEPLOY: string = fileURLToPath(new URL('../../deploy', import.meta.url))

interface PrometheusFile {
  global: object
  rule_files: string[]
  alerting: { alertmanagers: { static_configs: { targets: string[] }[] }[] }
  scrape_configs: { job_name: string; authorization: object; static_configs: { targets: string[] }[] }[]
}

interface AlertmanagerFile {
  route: { group_wait: string }
  receivers: { name: string; webhook_configs: { url: string }[] }[]
}

export async function startMonitoring(watched: {
  readonly targets: { readonly [job: string]: readonly string[] }
  readonly metricsToken: string
}): Promise<Monitoring> {
  const folder = mkdtempSync(join(tmpdir(), 'foothold-monitoring-'))
  const [prometheusPort = 0, alertmanagerPort = 0] = await freePorts(2)
  const receiver = await startReceiver()
  const file = (name: string, content: unknown): string => {
    const path = join(folder, name)
    writeFileSync(path, typeof content === 'string' ? content : stringify(content))
    return path
  }
  const alertmanagerFile = read<AlertmanagerFile>('alertmanager/alertmanager.yml')
  alertmanagerFile.route.group_wait = '1s'
  for (const { name, webhook_configs } of alertmanagerFile.receivers) {
    for (const webhook of webhook_configs) webhook.url = `${receiver.url}/${name}`
  }
  const prometheusFile = read<PrometheusFile>('prometheus/prometheus.yml')
  prometheusFile.global = { scrape_interval: '1s', evaluation_interval: '1s' }
  prometheusFile.rule_files = prometheusFile.rule_files.map((path) => join(DEPLOY, 'prometheus', path))
  prometheusFile.alerting.alertmanagers = [{ static_configs: [{ targets: [`127.0.0.1:${alertmanagerPort}`] }] }]
  const tokenFile = file('metrics-token', watched.metricsToken)
  for (const job of prometheusFile.scrape_configs) {
    job.authorization = { credentials_file: tokenFile }
    job.static_configs = [{ targets: [...(watched.targets[job.job_name] ?? [])] }]
  }

  const alertmanager = await startProgram('prometheus-alertmanager', alertmanagerPort, [
    `--config.file=${file('alertmanager.yml', alertmanagerFile)}`,
    `--storage.path=${join(folder, 'alertmanager')}`,
    '--cluster.listen-address=',
  ])
  const prometheus = await startProgram('prometheus', prometheusPort, [
    `--config.file=${file('prometheus.yml', prometheusFile)}`,
    `--storage.tsdb.path=${join(folder, 'prometheus')}`,
  ]).catch(async (error: unknown) => {
    await alertmanager.stop()
    throw error
  })

  async function ask<T>(path: string): Promise<T> {
    const answer = await fetch(`${prometheus.url}/api/v1/${path}`)
    const body = (await answer.json()) as { status: string; data: T; error?: string }
    if (body.status !== 'success') throw new Error(`Prometheus: ${body.error} (${decodeURIComponent(path)})`)
    return body.data
  }
  return {
    pages: receiver.pages,
    query: async (expression) =>
      (await ask<{ result: QueryResult[] }>(`query?query=${encodeURIComponent(expression)}`)).result,
    alerts: async () => (await ask<{ alerts: Alert[] }>('alerts')).alerts,
    targets: async () =>
      (await ask<{ activeTargets: { health: string; lastError: string }[] }>('targets')).activeTargets,
    async stop() {
      await Promise.all([prometheus.stop(), alertmanager.stop(), receiver.close()])
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function read<T>(name: string): T {
  return parse(readFileSync(join(DEPLOY, name), 'utf8')) as T
}

/** Where Alertmanager sends; what is no page is taken and forgotten. */
async function startReceiver(): Promise<{ url: string; pages: Page[]; close(): Promise<void> }> {
  const pages: Page[] = []
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (piece: string) => (body += piece))
    request.on('end', () => {
      if (request.url === '/on-call') pages.push(JSON.parse(body) as Page)
      response.end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return {
    url: `http://127.0.0.1:${port}`,
    pages,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
