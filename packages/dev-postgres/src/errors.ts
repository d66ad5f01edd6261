export type DevPostgresErrorCode =
  | 'PLATFORM_NOT_SUPPORTED'
  | 'BINARIES_MISSING'
  | 'ACCOUNT_MISSING'
  | 'OPTION_INVALID'
  | 'PORT_IN_USE'
  | 'DATA_DIR_OTHER_VERSION'
  | 'DATA_DIR_NOT_OURS'
  | 'DATA_DIR_NOT_USABLE'
  | 'DATA_DIR_BUSY'
  | 'DATA_REMOVED'
  | 'INIT_FAILED'
  | 'START_FAILED'
  | 'STOP_FAILED'

/** Every refusal says what is wrong and what to do about it; the code is the contract, the message is not. */
export class DevPostgresError extends Error {
  readonly code: DevPostgresErrorCode

  constructor(code: DevPostgresErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'DevPostgresError'
    this.code = code
  }
}

export function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}
