// Structured answers: a JSON document that fits the schema of the request. Properties that the model knows by name get
// what it understood; the rest is filled by type from the request's own words.

import { stemOf, wordsOf } from '../../language/words.ts'
import { scalarText } from '../../wire/scalar.ts'
import { planCalls } from './plan.ts'
import { isRecord, type Prompt } from './prompt.ts'
import type { Reading } from './reading.ts'

type Schema = Readonly<Record<string, unknown>>

const DEPTH_MAX = 12

export function documentFor(schema: Schema, prompt: Prompt, reading: Reading): unknown {
  return new Filler(schema, prompt, reading).fill(schema, '', 0)
}

class Filler {
  readonly #root: Schema
  readonly #prompt: Prompt
  readonly #reading: Reading

  constructor(root: Schema, prompt: Prompt, reading: Reading) {
    this.#root = root
    this.#prompt = prompt
    this.#reading = reading
  }

  fill(schema: Schema, name: string, depth: number): unknown {
    if (depth > DEPTH_MAX) return null
    const resolved = this.#resolve(schema)
    if ('const' in resolved) return resolved.const
    if (Array.isArray(resolved.enum)) return this.#choose(resolved.enum)
    switch (typeOf(resolved)) {
      case 'object':
        return this.#object(resolved, depth)
      case 'array':
        return this.#array(resolved, name, depth)
      case 'boolean':
        return /complain|жалоб/i.test(name) ? this.#reading.isComplaint : false
      case 'number':
      case 'integer':
        return this.#number(resolved, name)
      case 'null':
        return null
      default:
        return this.#string(resolved, name)
    }
  }

  #object(schema: Schema, depth: number): Record<string, unknown> {
    const properties = isRecord(schema.properties) ? schema.properties : {}
    return Object.fromEntries(
      Object.entries(properties).map(([name, property]) => {
        if (name === 'calls' && this.#prompt.functions.length > 0) return [name, planCalls(this.#prompt, this.#reading)]
        return [name, this.fill(isRecord(property) ? property : {}, name, depth + 1)]
      }),
    )
  }

  #array(schema: Schema, name: string, depth: number): unknown[] {
    const items = isRecord(schema.items) ? schema.items : {}
    if (/order|number|заказ/i.test(name) && typeOf(this.#resolve(items)) === 'string')
      return [...this.#reading.orderNumbers]
    const least = typeof schema.minItems === 'number' ? schema.minItems : 0
    return Array.from({ length: least }, () => this.fill(items, name, depth + 1))
  }

  #string(schema: Schema, name: string): string {
    const { language, summary, orderNumbers } = this.#reading
    if (/^(language|lang|locale)$/i.test(name)) return language
    if (/order|number|заказ/i.test(name)) return orderNumbers[0] ?? ''
    if (/name/i.test(name) && this.#prompt.clientName !== null) return this.#prompt.clientName
    const text = summary === '' ? '—' : summary
    return typeof schema.maxLength === 'number' ? Array.from(text).slice(0, schema.maxLength).join('') : text
  }

  #number(schema: Schema, name: string): number {
    const found = /order|number|заказ/i.test(name)
      ? this.#reading.orderNumbers[0]
      : /\d+/.exec(this.#prompt.request)?.[0]
    const least = typeof schema.minimum === 'number' ? schema.minimum : -Infinity
    const most = typeof schema.maximum === 'number' ? schema.maximum : Infinity
    return Math.min(Math.max(Number(found ?? 0), least), most)
  }

  /** The member that shares most with the request. */
  #choose(members: readonly unknown[]): unknown {
    const asked = new Set(this.#reading.words.map(stemOf))
    const shared = (member: unknown): number => wordsOf(String(member)).filter((word) => asked.has(stemOf(word))).length
    if (members.includes(this.#reading.language)) return this.#reading.language
    return members.toSorted((a, b) => shared(b) - shared(a))[0]
  }

  #resolve(schema: Schema): Schema {
    const [, area = '', name = ''] = /^#\/(\$defs|definitions)\/(.+)$/.exec(scalarText(schema.$ref)) ?? []
    const definitions = this.#root[area]
    const target = isRecord(definitions) ? definitions[name] : undefined
    if (isRecord(target)) return this.#resolve(target)
    const choices = schema.anyOf ?? schema.oneOf
    const choice = Array.isArray(choices) ? choices.filter(isRecord).find((one) => one.type !== 'null') : undefined
    return choice === undefined ? schema : this.#resolve(choice)
  }
}

function typeOf(schema: Schema): string {
  if (Array.isArray(schema.type)) return String(schema.type.find((one) => one !== 'null') ?? 'null')
  return typeof schema.type === 'string' ? schema.type : isRecord(schema.properties) ? 'object' : 'string'
}
