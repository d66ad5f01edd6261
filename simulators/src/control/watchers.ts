/** Long polls: whoever waits is asked again after each change, and is let go at the deadline. */
export class Watchers {
  readonly #checks = new Set<() => void>()

  changed(): void {
    for (const check of this.#checks) check()
  }

  async until(isTrue: () => boolean, timeoutMs: number): Promise<void> {
    if (isTrue()) return
    await new Promise<void>((resolve) => {
      const done = (): void => {
        clearTimeout(deadline)
        this.#checks.delete(check)
        resolve()
      }
      const check = (): void => {
        if (isTrue()) done()
      }
      const deadline = setTimeout(done, timeoutMs)
      // A test that forgot its long poll must not hold the process.
      deadline.unref()
      this.#checks.add(check)
    })
  }
}
