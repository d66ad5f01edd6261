import { connect } from '../../foothold.ts'
import { detectRelease } from '../../lifecycle/detect-release.ts'
import type { Agent } from '../../protocol/agent.ts'
import type { Foothold } from '../../protocol/foothold.ts'
import { agentsOfModule } from '../agents-of-module.ts'
import type { Command } from '../command.ts'
import { openReached } from '../connection.ts'
import { unlessStopped } from '../exit-codes.ts'
import { type OnDifference, shakenAgent } from '../shaken-agent.ts'
import { UsageError } from '../usage-error.ts'
import { wholeNumber } from '../whole-number.ts'

export const worker: Command = {
  name: 'worker',
  summary: 'Run the agents that a module exports, until SIGTERM',
  details: `The module is a path or a package's name; every agent it exports runs, alone, in an array, or by default.
On SIGTERM or Ctrl-C the worker claims nothing more, lets running steps end, hands over and exits; a second Ctrl-C at a
terminal hands over at once. A module in TypeScript on Node 20 needs a loader: NODE_OPTIONS='--import tsx'.`,
  arguments: [{ name: 'module', about: 'what exports the agents' }],
  options: {
    concurrency: { value: '<n>', about: 'tasks at once, 20 by default' },
    'grace-ms': { value: '<ms>', about: 'from the signal to the hand-over of what still runs, 6500 by default' },
    release: { value: '<label>', about: 'the deploy label of this code, found by itself: see docs/cli.md' },
    port: { value: '<n>', about: 'answer /healthz, /readyz and /metrics there; 0 is any free one' },
    host: { value: '<host>', about: 'where --port listens, 127.0.0.1 by default; others need FOOTHOLD_METRICS_TOKEN' },
    'ended-days': { value: '<n>', about: 'completed and cancelled tasks, 30 by default' },
    'direct-url': { value: '<url>', about: 'a session-level address where --url goes through a pooler' },
    'no-migrate': { about: 'leave the schema as it is' },
    shake: { about: 'for development: begin each task again after each of its steps, and tell what differs' },
  },
  handlesStop: true,
  async run({ arguments: [module = ''], values, flags, command }, { out, isJson, env, url, cwd, stop }) {
    const concurrency = wholeNumber('--concurrency', values['concurrency'], { min: 1, max: 100_000, command })
    const port = wholeNumber('--port', values['port'], { min: 0, max: 65_535, command })
    const graceMs = wholeNumber('--grace-ms', values['grace-ms'], { min: 0, max: 3_600_000, command })
    const endedDays = wholeNumber('--ended-days', values['ended-days'], { min: 0, max: 36_500, command })
    if (port === undefined && values['host'] !== undefined) throw new UsageError('--host goes with --port.', command)
    // An empty variable is one that is not set: so it comes out of compose files.
    const token = env['FOOTHOLD_METRICS_TOKEN'] || undefined
    const operations = port === undefined ? undefined : { port, host: values['host'], token }
    const tellDifference: OnDifference = ({ agent, task, what, said }) =>
      out.note(`shake: ${agent} ${task}: another ${what}: ${said}`)
    const prepare = async (): Promise<{ agents: readonly Agent[]; foothold: Foothold }> => {
      const exported = await agentsOfModule(module, cwd)
      const agents = flags.has('shake') ? exported.map((agent) => shakenAgent(agent, tellDifference)) : exported
      await (await openReached(url)).close()
      const options = {
        directUrl: values['direct-url'],
        migrate: !flags.has('no-migrate'),
        retention: { endedDays },
        signal: stop,
      }
      return { agents, foothold: await connect(url, options) }
    }
    // Nothing is claimed yet: a module that never ends loading must not hold up a stop.
    const { agents, foothold } = await unlessStopped(prepare(), stop)
    try {
      const release = values['release'] ?? detectRelease({ env, cwd })
      const running = foothold.worker({ agents, concurrency, graceMs, release, operations })
      const report = await running.run()
      if (isJson) out.document({ worker: running.id, ...report })
      return report.leftBehind.length === 0 ? 0 : 1
    } finally {
      await foothold.close()
    }
  },
}
