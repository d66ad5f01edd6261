import type { SimulatorsReady } from '../processes/simulators.ts'
import type { Paint } from './terminal.ts'

export interface Summary {
  readonly url: string
  readonly isTokenSet: boolean
  readonly database: string
  readonly simulators: SimulatorsReady['urls']
  readonly workers: readonly { readonly name: string; readonly pid: number | null }[]
  readonly paint: Paint
}

/** Where `ask` looks by itself. */
const DEFAULT_URL = 'http://127.0.0.1:4400'

/** What runs where, and what to type next. */
export function whatRunsWhere({ url, isTokenSet, database, simulators, workers, paint }: Summary): string {
  const rows: [string, string][] = [
    ['page and API', `${url}/`],
    ['PostgreSQL', database],
    ...workers.map(({ name, pid }): [string, string] => [name, `pid ${pid ?? '-'}`]),
    ['GigaChat', simulators.gigachat === undefined ? 'the real one' : `SIMULATED at ${simulators.gigachat}`],
    ['CRM', simulators.crm === undefined ? 'the real one' : `simulated at ${simulators.crm}`],
    ['Telegram', simulators.telegram === undefined ? 'the real one' : `simulated at ${simulators.telegram}`],
  ]
  const width = Math.max(...rows.map(([name]) => name.length))
  const table = rows.map(([name, where]) => `  ${name.padEnd(width)}  ${where}`)
  const notes =
    simulators.gigachat === undefined
      ? []
      : ['', paint('yellow', '  The language model is simulated: set GIGACHAT_CREDENTIALS to use the real one.')]
  const authorization = isTokenSet ? ` -H "authorization: Bearer $FOOTHOLD_TOKEN"` : ''
  const victim = workers[0]?.pid ?? '<pid>'
  const input = '{"agent":"support","input":{"client":{"id":"101"},"text":"Где мой заказ 5501?"}}'
  return [
    '',
    paint('bold', 'Foothold runs.'),
    ...table,
    ...notes,
    '',
    paint('bold', 'Try it (in another terminal):'),
    `  npm run ask -- ${url === DEFAULT_URL ? '' : `--url ${url} `}"Где мой заказ 5501?"`,
    `  curl ${url}/v1/tasks${authorization} -H 'content-type: application/json' -d '${input}'`,
    `  kill -9 ${victim}    in the middle of an answer: another worker goes on from the last finished step`,
    '',
    '  Ctrl-C stops everything in order; what is under way goes on at the next start.',
    '',
  ].join('\n')
}
