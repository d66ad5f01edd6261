import { describe, expect, test } from 'vitest'
import { buildGraph } from '../import-graph.ts'
import type { Workspace } from '../workspaces.ts'
import { EVERY_RULE } from './every-rule.ts'

function workspace(name: string, folder: string, dependencies: string[] = []): Workspace {
  const exports = name === 'foothold' ? ['.', './testing'] : ['.']
  return { name, folder, exports, dependencies, entries: [] }
}

const WORKSPACES = [
  workspace('foothold', 'packages/engine', ['pg']),
  workspace('@foothold/dev-postgres', 'packages/dev-postgres'),
  workspace('@foothold/http-api', 'packages/http-api'),
  workspace('@foothold/models', 'packages/models', ['foothold']),
  workspace('@foothold/server', 'packages/server', ['foothold', '@foothold/http-api']),
  workspace('@foothold/support-agent', 'apps/support-agent', ['@foothold/dev-postgres']),
]

const engine = 'packages/engine/src'
const agent = 'apps/support-agent/src'

/** The names of the rules that a small repository breaks. */
function broken(files: Record<string, string>, workspaces: Workspace[] = WORKSPACES): string[] {
  const graph = buildGraph(new Map(Object.entries(files)), workspaces)
  return Object.entries(EVERY_RULE).flatMap(([name, rule]) => (rule(graph).length > 0 ? [name] : []))
}

const rooms = 'in the engine, rooms import downwards only and siblings do not know each other'
const engineDependencies = 'the engine depends on pg alone, and protocol on nothing'
const pure = 'protocol has no clock, no randomness and no process'
const sql = 'SQL lives in the store'
const packages = 'a package uses only the packages it may'
const declared = 'package.json declares no forbidden dependency'
const deep = 'packages know each other by exported names only'
const testing = 'foothold/testing is used by tests only'
const nowhere = 'every relative import leads to a file'
const ports = 'the support agent reaches the world through ports'
const portsAlone = 'ports know no integration'
const environment = 'only main.ts and config.ts read the environment'
const cycles = 'no file imports itself through others'

/** One small repository per way of breaking a rule: the rule it breaks, and its files. */
const CASES: [string, string, Record<string, string>][] = [
  [
    'protocol looks up',
    rooms,
    { [`${engine}/protocol/a.ts`]: `import type { B } from '../store/b.ts'`, [`${engine}/store/b.ts`]: '' },
  ],
  [
    'lifecycle looks up',
    rooms,
    { [`${engine}/lifecycle/a.ts`]: `import '../store/b.ts'`, [`${engine}/store/b.ts`]: '' },
  ],
  [
    'siblings know each other',
    rooms,
    { [`${engine}/worker/a.ts`]: `export * from '../client/b.ts'`, [`${engine}/client/b.ts`]: '' },
  ],
  ['a room knows the root', rooms, { [`${engine}/client/a.ts`]: `import '../index.ts'`, [`${engine}/index.ts`]: '' }],
  [
    'the root knows testing',
    rooms,
    { [`${engine}/index.ts`]: `export * from './testing/b.ts'`, [`${engine}/testing/b.ts`]: '' },
  ],
  [
    'a room knows the command line',
    rooms,
    { [`${engine}/client/a.ts`]: `import '../cli/b.ts'`, [`${engine}/cli/b.ts`]: '' },
  ],
  [
    'the root knows the command line',
    rooms,
    { [`${engine}/index.ts`]: `import './cli/b.ts'`, [`${engine}/cli/b.ts`]: '' },
  ],
  [
    'the command line goes past the root',
    rooms,
    { [`${engine}/cli/a.ts`]: `import '../worker/b.ts'`, [`${engine}/worker/b.ts`]: '' },
  ],
  ['a room nobody knows', rooms, { [`${engine}/utils/a.ts`]: '' }],
  ['protocol uses Node', engineDependencies, { [`${engine}/protocol/a.ts`]: `import 'node:crypto'` }],
  ['protocol uses a package', engineDependencies, { [`${engine}/protocol/a.ts`]: `import 'pg'` }],
  ['the engine uses another package', engineDependencies, { [`${engine}/worker/a.ts`]: `import 'zod'` }],
  ['protocol reads the clock', pure, { [`${engine}/protocol/a.ts`]: `const now = Date.now()` }],
  ['protocol makes the time', pure, { [`${engine}/protocol/a.ts`]: `const now = new Date()` }],
  ['protocol throws dice', pure, { [`${engine}/protocol/a.ts`]: `const delay = 5 * Math.random()` }],
  ['SQL in a worker', sql, { [`${engine}/worker/a.ts`]: 'const text = `select id\nfrom tasks`' }],
  ['SQL at the root', sql, { [`${engine}/foothold.ts`]: `run('update tasks set status = $1')` }],
  ['models use the server', packages, { 'packages/models/src/a.ts': `import '@foothold/server'` }],
  ['http-api uses the engine', packages, { 'packages/http-api/src/a.ts': `import type { Task } from 'foothold'` }],
  ['a package uses dev-postgres', packages, { 'packages/server/src/a.ts': `import '@foothold/dev-postgres'` }],
  ['dev-postgres uses the engine', packages, { 'packages/dev-postgres/src/a.ts': `import 'foothold'` }],
  ['a deep import by name', deep, { 'packages/models/src/a.ts': `import 'foothold/src/store/tasks.ts'` }],
  ['a test imports deep by name', deep, { 'packages/models/test/a.test.ts': `import 'foothold/dist/x.js'` }],
  [
    'a deep import by path',
    deep,
    { 'packages/models/src/a.ts': `import '../../engine/src/index.ts'`, [`${engine}/index.ts`]: '' },
  ],
  ['production code moves the clock', testing, { [`${agent}/agent/a.ts`]: `import { clock } from 'foothold/testing'` }],
  ['a file that is not there', nowhere, { 'packages/models/src/a.ts': `import './gone.ts'` }],
  [
    'the agent knows an integration',
    ports,
    { [`${agent}/agent/a.ts`]: `import '../integrations/b.ts'`, [`${agent}/integrations/b.ts`]: '' },
  ],
  [
    'an integration knows the agent',
    ports,
    { [`${agent}/integrations/a.ts`]: `import '../agent/b.ts'`, [`${agent}/agent/b.ts`]: '' },
  ],
  [
    'a third room knows both',
    ports,
    {
      [`${agent}/intake/a.ts`]: `import '../agent/b.ts'\nimport '../integrations/c.ts'`,
      [`${agent}/agent/b.ts`]: '',
      [`${agent}/integrations/c.ts`]: '',
    },
  ],
  [
    'ports know an integration',
    portsAlone,
    { [`${agent}/ports.ts`]: `import '../src/integrations/c.ts'`, [`${agent}/integrations/c.ts`]: '' },
  ],
  ['a package reads the environment', environment, { 'packages/models/src/a.ts': `const key = process.env.KEY` }],
  ['by brackets', environment, { 'packages/models/src/a.ts': `const key = process['env'].KEY` }],
  ['by import', environment, { 'packages/models/src/a.ts': `import { env } from 'node:process'` }],
  ['in a template', environment, { 'packages/models/src/a.ts': 'const url = `http://${process.env.HOST}`' }],
  [
    'a circle of three',
    cycles,
    {
      'packages/models/src/a.ts': `import { B } from './b.ts'`,
      'packages/models/src/b.ts': `export * from './c.ts'`,
      'packages/models/src/c.ts': `import { type A } from './a.ts'`,
    },
  ],
]

describe('each rule can fail', () => {
  test.each(CASES)('%s: %s', (_, rule, files) => {
    expect(broken(files)).toEqual([rule])
  })

  test('a forbidden line in package.json', () => {
    expect(broken({}, [workspace('foothold', 'packages/engine', ['pg', 'zod'])])).toEqual([declared])
    expect(
      broken({}, [
        workspace('@foothold/models', 'packages/models', ['@foothold/dev-postgres']),
        workspace('@foothold/dev-postgres', 'packages/dev-postgres'),
      ]),
    ).toEqual([declared])
  })

  test('no rule is without a case', () => {
    expect(new Set([...CASES.map(([, rule]) => rule), declared])).toEqual(new Set(Object.keys(EVERY_RULE)))
  })
})

test('what the architecture allows breaks no rule', () => {
  const files = {
    [`${engine}/protocol/agent.ts`]: `import type { C } from './context.ts'`,
    [`${engine}/protocol/context.ts`]: `import { A } from './agent.ts'`,
    [`${engine}/protocol/states.ts`]: `// select one from the list\nexport const at = new Date(0)`,
    [`${engine}/lifecycle/clock.ts`]: `import '../protocol/states.ts'\nexport const now = () => Date.now()`,
    [`${engine}/store/tasks.ts`]: `import pg from 'pg'\nimport '../lifecycle/clock.ts'\nconst text = 'select id from tasks'`,
    [`${engine}/worker/claim.ts`]: `import 'node:os'\nimport '../store/tasks.ts'`,
    [`${engine}/worker/claim.test.ts`]: `import 'vitest'\nimport '../testing/index.ts'\nimport './claim.ts'`,
    [`${engine}/testing/index.ts`]: `import '../index.ts'\nconst text = 'delete from tasks where id in (select 1 from x)'`,
    [`${engine}/index.ts`]: `export { connect } from './foothold.ts'`,
    [`${engine}/foothold.ts`]: `import './worker/claim.ts'`,
    [`${engine}/cli/main.ts`]: `import '../foothold.ts'\nimport '../store/tasks.ts'\nprocess.env.NO_COLOR`,
    'packages/models/src/index.ts': `import 'foothold'\nimport 'undici'`,
    'packages/models/test/generate.test.ts': `import 'foothold/testing'\nimport '@foothold/dev-postgres'\nprocess.env.A = '1'`,
    'packages/server/src/index.ts': `import 'foothold'\nimport '@foothold/http-api'`,
    [`${agent}/main.ts`]: `import './agent/a.ts'\nimport './integrations/b.ts'\nimport '@foothold/dev-postgres'\nprocess.env.URL`,
    [`${agent}/ports.ts`]: '',
    [`${agent}/agent/a.ts`]: `import '../ports.ts'\nimport 'foothold'`,
    [`${agent}/integrations/b.ts`]: `import '../ports.ts'\nconst text = 'select a from memory'`,
    'examples/hello/hello.ts': `import { connect } from 'foothold'\nconnect(process.env.DATABASE_URL)`,
  }

  expect(broken(files)).toEqual([])
})
