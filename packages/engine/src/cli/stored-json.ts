import { encode } from '../protocol/codec.ts'

/** A stored value in a JSON document: as it stands in the database, with tags where JSON has no word for it. */
export function storedJson(value: unknown): unknown {
  return JSON.parse(encode(value, 'the value'))
}

/** On one line, for people. */
export function storedText(value: unknown): string {
  return encode(value, 'the value')
}
