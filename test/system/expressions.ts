import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { DEPLOY } from './monitoring.ts'

export interface Expression {
  /** Where it stands: a panel's title, a rule's name. */
  readonly of: string
  readonly text: string
}

interface Rule {
  readonly record?: string
  readonly alert?: string
  readonly expr: string
}

interface Dashboard {
  readonly annotations: { readonly list: readonly { readonly name: string; readonly expr: string }[] }
  readonly panels: readonly { readonly title: string; readonly targets?: readonly { readonly expr: string }[] }[]
}

export function rules(): readonly Rule[] {
  const folder = join(DEPLOY, 'prometheus/rules')
  return readdirSync(folder).flatMap((name) => {
    const { groups } = parse(readFileSync(join(folder, name), 'utf8')) as { groups: { rules: Rule[] }[] }
    return groups.flatMap((group) => group.rules)
  })
}

export function ruleExpressions(): readonly Expression[] {
  return rules().map(({ record, alert, expr }) => ({ of: record ?? alert ?? '', text: expr }))
}

/** With the variables filled in as Grafana would. */
export function dashboardExpressions(): readonly Expression[] {
  const text = readFileSync(join(DEPLOY, 'grafana/dashboards/foothold.json'), 'utf8')
  const { panels, annotations } = JSON.parse(text) as Dashboard
  const ofPanels = panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => ({ of: title, text: expr })))
  const ofAnnotations = annotations.list.map(({ name, expr }) => ({ of: name, text: expr }))
  return [...ofPanels, ...ofAnnotations].map((expression) => ({
    ...expression,
    text: expression.text.replaceAll('$__rate_interval', '1m').replaceAll('$agent', '.*'),
  }))
}

/** The series that an expression looks at: an empty answer must come from a comparison, never from a misspelt name. */
export function selectorsOf({ text }: Expression): readonly string[] {
  return [...text.matchAll(/\b(?:up|foothold[a-z0-9_:]*)\b(?:\{[^}]*\})?/g)].map(([selector]) => selector)
}
