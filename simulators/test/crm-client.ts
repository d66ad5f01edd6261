import type { RunningCrm } from '../src/index.ts'

export interface CrmAnswer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly body: Readonly<Record<string, unknown>>
}

export async function callCrm(
  crm: RunningCrm,
  method: string,
  parameters: unknown,
  headers: Record<string, string> = {},
): Promise<CrmAnswer> {
  const response = await fetch(`${crm.baseUrl}${method}.json`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(parameters),
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, body: JSON.parse(text) as CrmAnswer['body'] }
}

export function itemsOf(body: CrmAnswer['body']): unknown[] {
  return (body.result as { items: unknown[] }).items
}
