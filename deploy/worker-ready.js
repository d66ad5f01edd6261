// Exits with 0 when the worker of this container takes work: registered, active, and heard of lately. For roll-outs, which
// wait for it, and never for restarts: without a database no worker is ready, and restarting them would not help.
import { hostname } from 'node:os'
import { connect } from 'foothold'

/** Shorter than the probes' own timeout, so that they hear why. */
const ANSWER_MS = 4_000
/** The worker's lease: after it, others take its tasks. */
const HEARD_OF_MS = 20_000

const giveUp = setTimeout(() => end(1, `the database did not answer within ${ANSWER_MS} ms`), ANSWER_MS)
try {
  const foothold = await connect(process.env.DATABASE_URL, { migrate: false, poolSize: 1, logger: 'silent' })
  const ours = (await foothold.workers()).filter(({ id }) => id.startsWith(`${hostname().slice(0, 200)}:`))
  const ready = ours.find(
    ({ status, lastHeartbeatAt }) => status === 'active' && Date.now() - lastHeartbeatAt.getTime() < HEARD_OF_MS,
  )
  await foothold.close()
  if (ready === undefined) end(1, `no active worker of ${hostname()}; seen: ${ours.map(({ status }) => status).join()}`)
  else end(0, `${ready.id} is active`)
} catch (error) {
  end(1, error instanceof Error ? error.message : String(error))
}

function end(code, line) {
  clearTimeout(giveUp)
  process.stdout.write(`${line}\n`, () => process.exit(code))
}
