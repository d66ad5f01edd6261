// Deals carry stage codes, as in the real CRM; crm.status.list says what they are called.

import { createHash } from 'node:crypto'

const CODES: Readonly<Record<string, string>> = {
  Новый: 'NEW',
  'Ожидает оплаты': 'PREPAYMENT_INVOICE',
  'Собирается на складе': 'PREPARATION',
  'Передан в доставку': 'EXECUTING',
  'Готов к выдаче': 'FINAL_INVOICE',
  Доставлен: 'WON',
  'Возврат оформляется': 'UC_RETURN',
  Отменён: 'LOSE',
}

/** Stages that somebody named get a code of their own, as those that a user of the CRM adds. */
export function stageCode(name: string): string {
  return CODES[name] ?? `UC_${createHash('sha256').update(name).digest('hex').slice(0, 6).toUpperCase()}`
}

/** The known stages and those that are in use besides. */
export function stageList(inUse: readonly string[]): { code: string; name: string }[] {
  return [...new Set([...Object.keys(CODES), ...inUse])].map((name) => ({ code: stageCode(name), name }))
}

/** Either a stage's name or its code, as its name. */
export function stageName(nameOrCode: string): string {
  return Object.entries(CODES).find(([, code]) => code === nameOrCode)?.[0] ?? nameOrCode
}
