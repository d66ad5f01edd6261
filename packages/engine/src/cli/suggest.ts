/** The known word that was probably meant, or null. A third of the letters may be wrong, but never all of a short word. */
export function suggest(word: string, known: readonly string[]): string | null {
  const lower = word.toLowerCase()
  const ranked = known
    .map((candidate) => ({ candidate, distance: distanceOf(lower, candidate.toLowerCase()) }))
    .filter(({ candidate, distance }) => distance <= Math.max(1, Math.floor(candidate.length / 3)))
    .filter(({ candidate, distance }) => distance < candidate.length)
    .toSorted((one, other) => one.distance - other.distance)
  return ranked[0]?.candidate ?? null
}

/** Longer words are no misspellings of ours; the table below is as large as their product. */
const LENGTH_MAX = 100

/** Insertions, deletions, replacements and swaps of neighbours that make one word of the other. */
function distanceOf(one: string, other: string): number {
  if (one.length > LENGTH_MAX || other.length > LENGTH_MAX) return one === other ? 0 : LENGTH_MAX
  let before: number[] = []
  let above = Array.from({ length: other.length + 1 }, (_, index) => index)
  for (let row = 1; row <= one.length; row += 1) {
    const here = [row]
    for (let column = 1; column <= other.length; column += 1) {
      const isSame = one[row - 1] === other[column - 1]
      let least = Math.min(at(above, column) + 1, at(here, column - 1) + 1, at(above, column - 1) + (isSame ? 0 : 1))
      const isSwapped = one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1]
      if (row > 1 && column > 1 && isSwapped) least = Math.min(least, at(before, column - 2) + 1)
      here.push(least)
    }
    before = above
    above = here
  }
  return at(above, other.length)
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? LENGTH_MAX
}
