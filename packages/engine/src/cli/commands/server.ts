import { connect } from '../../foothold.ts'
import type { Command } from '../command.ts'
import { openReached } from '../connection.ts'
import { unlessStopped } from '../exit-codes.ts'
import { SERVER_PORT, serverPackage } from '../server-package.ts'
import { untilStopped } from '../until-stopped.ts'
import { wholeNumber } from '../whole-number.ts'

export const server: Command = {
  name: 'server',
  summary: 'Serve the HTTP API, live events and the page, until SIGTERM',
  details: `Needs the package @foothold/server. It runs no task. The bearer token of the API is FOOTHOLD_TOKEN in the
environment; without one only this machine may call. FOOTHOLD_METRICS_TOKEN opens /metrics and nothing else.`,
  arguments: [],
  options: {
    port: { value: '<n>', about: `${SERVER_PORT} by default; 0 is any free one` },
    host: { value: '<host>', about: '127.0.0.1 by default; others need FOOTHOLD_TOKEN' },
    'direct-url': { value: '<url>', about: 'a session-level address where --url goes through a pooler' },
    'no-migrate': { about: 'leave the schema as it is' },
  },
  handlesStop: true,
  async run({ values, flags, command }, { env, cwd, out, url, isJson, stop }) {
    const port = wholeNumber('--port', values['port'], { min: 0, max: 65_535, command }) ?? SERVER_PORT
    const { serve } = await serverPackage({ cwd, command })
    await unlessStopped(openReached(url), stop).then((db) => db.close())
    const options = { directUrl: values['direct-url'], migrate: !flags.has('no-migrate'), signal: stop }
    const foothold = await unlessStopped(connect(url, options), stop)
    try {
      // An empty variable is one that is not set: so it comes out of compose files.
      const token = env['FOOTHOLD_TOKEN'] || undefined
      const metricsToken = env['FOOTHOLD_METRICS_TOKEN'] || undefined
      const listening = await serve({ foothold, host: values['host'], port, token, metricsToken })
      if (isJson) out.record({ url: listening.url })
      else out.note(`The page and the API: ${listening.url}/`)
      await untilStopped(stop)
      await listening.close()
      return 0
    } finally {
      await foothold.close()
    }
  },
}
