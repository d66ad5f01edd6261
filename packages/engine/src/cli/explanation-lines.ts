import type { Explanation } from '../protocol/explain/explanation.ts'
import { explanationFields } from '../protocol/explain/explanation-fields.ts'
import { plainLine } from './plain-text.ts'
import { fieldLines } from './table.ts'

export function explanationLines(said: Explanation): string[] {
  return fieldLines(explanationFields(said).map(([name, text]) => [name, plainLine(text)]))
}
