// Deterministic embeddings: a text is the weighted sum of its words' stems, what they are about, and their letter
// trigrams, each hashed to a place and a sign. Texts that share these are near by cosine; typing errors cost little.

import { conceptsOf } from './concepts.ts'
import { isStopWord, stemOf, wordsOf } from './words.ts'

const STEM_WEIGHT = 1
const CONCEPT_WEIGHT = 1.4
const TRIGRAM_WEIGHT = 0.25

/** A unit vector; a text without a word is the first axis, since a zero vector has no direction. */
export function embed(text: string, dimensions: number): number[] {
  const vector = new Float64Array(dimensions)
  const words = wordsOf(text)
  const telling = words.filter((word) => !isStopWord(word))
  for (const word of telling.length > 0 ? telling : words) {
    add(vector, `stem:${stemOf(word)}`, STEM_WEIGHT)
    const padded = ` ${word} `
    for (let at = 0; at + 3 <= padded.length; at += 1) add(vector, `tri:${padded.slice(at, at + 3)}`, TRIGRAM_WEIGHT)
  }
  for (const concept of conceptsOf(words)) add(vector, `concept:${concept}`, CONCEPT_WEIGHT)
  const length = Math.hypot(...vector)
  if (length === 0) return Array.from(vector, (_, index) => (index === 0 ? 1 : 0))
  return Array.from(vector, (value) => Number((value / length).toFixed(7)))
}

function add(vector: Float64Array, feature: string, weight: number): void {
  const hash = fnv1a(feature)
  const index = hash % vector.length
  vector[index] = (vector[index] ?? 0) + ((hash >>> 16) % 2 === 0 ? weight : -weight)
}

function fnv1a(text: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  }
  // FNV's low bits are weak for short texts; one more mixing spreads them.
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d)
  return (hash ^ (hash >>> 13)) >>> 0
}
