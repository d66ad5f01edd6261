import { UsageError } from './usage-error.ts'

export function wholeNumber(
  option: string,
  text: string | undefined,
  { min, max, command }: { readonly min: number; readonly max: number; readonly command: string },
): number | undefined {
  if (text === undefined) return undefined
  const number = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
  if (number >= min && number <= max) return number
  throw new UsageError(
    `${option}: ${JSON.stringify(text.slice(0, 50))} is not a whole number from ${min} to ${max}.`,
    command,
  )
}
