import { jsonAnswer, type WireAnswer } from '../wire/answer.ts'

/** A refusal in the Bot API's own form. */
export class BotApiError extends Error {
  readonly status: number
  readonly parameters: Readonly<Record<string, unknown>> | undefined

  constructor(status: number, description: string, parameters?: Readonly<Record<string, unknown>>) {
    super(description)
    this.status = status
    this.parameters = parameters
  }

  toAnswer(): WireAnswer {
    return jsonAnswer(this.status, {
      ok: false,
      error_code: this.status,
      description: this.message,
      ...(this.parameters === undefined ? {} : { parameters: this.parameters }),
    })
  }
}

export function badRequest(what: string): BotApiError {
  return new BotApiError(400, `Bad Request: ${what}`)
}

export function tooManyRequests(retryAfter: number): BotApiError {
  return new BotApiError(429, `Too Many Requests: retry after ${retryAfter}`, { retry_after: retryAfter })
}
