/** A refusal of the HTTP layer itself, or of a `beforeSubmit`: answered as problem+json with this status and code. */
export class HttpProblem extends Error {
  override readonly name: string = 'HttpProblem'
  readonly status: number
  readonly code: string
  readonly details: unknown
  readonly headers: Readonly<Record<string, string>>

  /** `message` is shown to the caller: name the field, the limit and the cure. */
  constructor(status: number, code: string, message: string, options: HttpProblemOptions = {}) {
    super(message)
    if (!Number.isInteger(status) || status < 400 || status > 599) {
      throw new RangeError(`status: ${status} is not an HTTP error status. Use 400 to 599.`)
    }
    this.status = status
    this.code = code
    this.details = options.details ?? {}
    this.headers = options.headers ?? {}
  }
}

export interface HttpProblemOptions {
  readonly details?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

export interface Mistake {
  readonly problem: string
  readonly cure?: string | undefined
}

/** In the words of the engine's own error of this code. */
export function invalidArgument(field: string, { problem, cure }: Mistake): HttpProblem {
  const message = `${field}: ${problem}.${cure === undefined ? '' : ` ${cure}`}`
  return new HttpProblem(400, 'INVALID_ARGUMENT', message, { details: { field, problem, cure } })
}
