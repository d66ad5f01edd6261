import { jsonAnswer, type WireAnswer } from '../wire/answer.ts'

/** A refusal in the CRM's own form. */
export class CrmError extends Error {
  readonly status: number
  readonly code: string

  constructor(status: number, code: string, description: string) {
    super(description)
    this.status = status
    this.code = code
  }

  toAnswer(): WireAnswer {
    return jsonAnswer(this.status, { error: this.code, error_description: this.message })
  }
}
