/** As it can be pasted into a POSIX shell; step keys may hold anything. */
export function shellWord(text: string): string {
  return /^[\p{L}\p{N}_.:@%+,/-]+$/u.test(text) && !text.startsWith('-') ? text : `'${text.replaceAll("'", `'\\''`)}'`
}
