import { jsonAnswer, type WireAnswer } from '../wire/answer.ts'

/** A refusal of the API host: {"status","message"}. */
export class ApiError extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }

  toAnswer(headers: Record<string, string>): WireAnswer {
    return jsonAnswer(this.status, { status: this.status, message: this.message }, headers)
  }
}

/** A refusal of the authorisation host: {"code","message"}. */
export class OAuthError extends Error {
  readonly status: number
  readonly code: number

  constructor(status: number, code: number, message: string) {
    super(message)
    this.status = status
    this.code = code
  }

  toAnswer(): WireAnswer {
    return jsonAnswer(this.status, { code: this.code, message: this.message })
  }
}
