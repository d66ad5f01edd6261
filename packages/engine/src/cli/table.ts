/** Columns under their names, as wide as their widest cell; the last one runs free. */
export function tableLines(names: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const widths = names.map((name, column) => Math.max(...[name, ...rows.map((row) => row[column] ?? '')].map(widthOf)))
  return [names, ...rows].map((row) =>
    row
      .map((cell, column) => cell + ' '.repeat(Math.max(0, (widths[column] ?? 0) - widthOf(cell))))
      .join('  ')
      .trimEnd(),
  )
}

/** Lines of `name  value`. */
export function fieldLines(fields: readonly (readonly [string, string])[]): string[] {
  const width = Math.max(0, ...fields.map(([name]) => widthOf(name)))
  return fields.map(([name, value]) => `${name}${' '.repeat(width - widthOf(name))}  ${value}`.trimEnd())
}

/** Characters that terminals draw over two columns. */
const WIDE = /[\u1100-\u115F\u2E80-\uA4CF\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60]|\p{Emoji_Presentation}/u
/** Drawn over the character before. */
const FLAT = /[\p{Mn}\p{Me}\p{Cf}]/u

function widthOf(text: string): number {
  let width = 0
  for (const character of text) width += FLAT.test(character) ? 0 : WIDE.test(character) ? 2 : 1
  return width
}
