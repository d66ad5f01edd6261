#!/usr/bin/env node
import { onStopSignal } from '../lifecycle/process-signals.ts'
import { exitCodeOf } from './exit-codes.ts'
import { runCli } from './run-cli.ts'

/** For a command that was cut off: its sockets must not keep the process from ending. */
const LINGER_MS = 500

const stop = new AbortController()
const uninstall = onStopSignal((signal, count) => {
  stop.abort(signal)
  // A worker counts for itself: its second Ctrl-C hands over at once. Whoever presses a third time wants out; a platform
  // that repeats SIGTERM does not.
  if (signal === 'SIGINT' && count > 2) process.exit(exitCodeOf(stop.signal))
})

// The reader of a pipe went away (`| head`): nothing is left to be said.
process.stdout.on('error', () => process.exit(0))

process.exitCode = await runCli(process.argv.slice(2), {
  env: process.env,
  stdout: process.stdout,
  stderr: process.stderr,
  stop: stop.signal,
}).finally(uninstall)
if (stop.signal.aborted) setTimeout(() => process.exit(), LINGER_MS).unref()
