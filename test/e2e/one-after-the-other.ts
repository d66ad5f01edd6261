let last: Promise<unknown> = Promise.resolve()

/**
 * For what concurrent tests of one file must not do at once: worlds that are set up together slow each other down until
 * held requests meet their time limits. The long waits that follow run side by side.
 */
export function oneAfterTheOther<T>(act: () => Promise<T>): Promise<T> {
  const result = last.then(act)
  last = result.catch(() => undefined)
  return result
}
