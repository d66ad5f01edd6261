import { type Submission } from '@foothold/http-api'
import { HttpProblem, type Listening, serve } from '@foothold/server'
import { agent, connect } from 'foothold'
import { SupportRequest } from '../agent/request.ts'
import { type Config, requireSet } from '../config.ts'
import { type ReplyPolicy, replyToProblem } from '../reply-address.ts'
import { endRequest, tellReady } from './lifeline.ts'
import { log } from './log.ts'

/** The HTTP API and the page. It runs no task, so it needs the database alone. */
export async function runServer(config: Config): Promise<number> {
  const end = endRequest()
  const { databaseUrl } = requireSet(config, ['databaseUrl'])
  const options = { directUrl: config.directUrl ?? undefined, signal: end.signal }
  const foothold = await end.unless(connect(databaseUrl, options))
  if (foothold === null) return 0
  let listening: Listening
  try {
    listening = await serve({
      foothold,
      agents: [door],
      beforeSubmit: (submission) => checkReplyTo(submission, config.replyPolicy),
      host: config.host,
      port: config.port,
      ...(config.token === null ? {} : { token: config.token }),
      ...(config.metricsToken === null ? {} : { metricsToken: config.metricsToken }),
    })
  } catch (error) {
    await foothold.close()
    throw error
  }
  tellReady({ url: listening.url })
  log.info({ url: listening.url }, 'server listens')

  await end.requested
  await listening.close()
  await foothold.close()
  return 0
}

/** The agent's name and input without its code: requests are judged at the door. */
const door = agent({
  name: 'support',
  input: SupportRequest,
  run: () => Promise.reject(new Error('the server runs no tasks')),
})

function checkReplyTo(submission: Submission, policy: ReplyPolicy): Submission {
  const replyTo = (submission.input as { readonly replyTo?: unknown } | null)?.replyTo
  if (submission.agent !== door.name || typeof replyTo !== 'string') return submission
  const problem = replyToProblem(replyTo, policy)
  if (problem === null) return submission
  throw new HttpProblem(422, 'INPUT_INVALID', `input.replyTo ${problem}.`, {
    details: { agent: door.name, issues: [{ path: 'replyTo', message: problem }] },
  })
}
