/** At most so many characters, the last one an ellipsis when there was more. */
export function cut(text: string, charactersMax: number): string {
  const characters = Array.from(text.slice(0, 4 * charactersMax))
  return characters.length <= charactersMax ? text : `${characters.slice(0, charactersMax - 1).join('')}…`
}
