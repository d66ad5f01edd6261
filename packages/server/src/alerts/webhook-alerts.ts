import { type AlertChannel, FootholdError, type MessageRef, ReasonedError, RetryError, TerminalError } from 'foothold'
import { alertText, plainText } from './alert-text.ts'
import { postJson } from './post-json.ts'
import type { Language } from './words.ts'

export interface WebhookAlertsOptions {
  readonly url: string
  /** Sent as `Authorization: Bearer`. */
  readonly token?: string | undefined
  /** Of `text`. Default `en`. */
  readonly language?: Language | undefined
  /** Default `webhook`. */
  readonly name?: string | undefined
}

/**
 * POSTs each state of a group as JSON: the facts, and the same in words as `text`. `id` is the group's in every one of
 * them, for receivers that keep one incident open by a key; a state may come twice, and is then the same.
 */
export function webhookAlerts({ url, token, language = 'en', name = 'webhook' }: WebhookAlertsOptions): AlertChannel {
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    throw new FootholdError('INVALID_ARGUMENT', {
      field: 'webhookAlerts.url',
      problem: 'it is no http(s) address',
      cure: 'Give the whole address, https://… .',
    })
  }
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }

  const post: AlertChannel['send'] = async (message, { signal, mayBeRepeated }): Promise<MessageRef> => {
    const text = plainText(alertText(message, language, mayBeRepeated))
    const { status, retryAfterMs } = await postJson(
      'the webhook',
      url,
      { ...message, mayBeRepeated, text },
      { headers, signal },
    )
    if (status >= 200 && status < 300) return { status }
    const said = `The webhook answered ${status}`
    if (status === 429 || status === 503)
      throw new RetryError(said, { afterMs: retryAfterMs ?? 0, reason: 'alert_unavailable' })
    if (status >= 300 && status < 500) throw new TerminalError(said, { reason: 'alert_rejected' })
    throw new ReasonedError(said, { reason: 'alert_unavailable' })
  }
  return { name, send: post, update: (_ref, message, context) => post(message, context) }
}
