type Scalar = string | number | bigint | boolean | null | undefined | Date | Uint8Array
type Callable = (...args: never[]) => unknown

interface CannotStore<Why extends string> {
  readonly 'cannot be stored': Why
}

/**
 * What a step may return. One level deep on purpose: recursive types (JSON trees) stay cheap, and the codec names the
 * path of anything deeper at once. It stands at the value, not as a constraint, so that inference is untouched.
 */
export type Stored<T> = unknown extends T
  ? T
  : T extends Scalar | readonly unknown[] | ReadonlyMap<unknown, unknown> | ReadonlySet<unknown>
    ? T
    : T extends Callable
      ? CannotStore<'a function'>
      : T extends symbol | PromiseLike<unknown>
        ? CannotStore<'a symbol or a promise'>
        : [Extract<T[keyof T], Callable>] extends [never]
          ? T
          : CannotStore<'an object with methods: return plain data'>
