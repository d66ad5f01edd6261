/** The command line itself is wrong: exit code 2, and where to read how it is right. */
export class UsageError extends Error {
  override readonly name: string = 'UsageError'
  /** The words of the command whose help answers, `tasks show`; empty for the whole. */
  readonly command: string

  constructor(message: string, command: string = '') {
    super(message)
    this.command = command
  }
}
