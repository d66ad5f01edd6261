import { z } from 'zod'
import { readable } from './readable-text.ts'

/** Digits only. Models write numbers, and "№ 5501"; a number past 2^53 would be rounded, so it is refused. */
const Digits = z.union([z.string(), z.number(), z.bigint()]).transform((id, context): string => {
  const digits = String(id)
    .replace(/^\s*[№#]?\s*/, '')
    .trim()
  if (typeof id === 'number' && !Number.isSafeInteger(id)) {
    context.addIssue({ code: 'custom', message: 'is no exact whole number: write its digits as a string' })
  } else if (!/^\d{1,30}$/.test(digits)) {
    context.addIssue({ code: 'custom', message: 'is not a number of 1 to 30 digits, written as a string' })
  }
  return digits
})

const Line = (charactersMax: number): z.ZodType<string> =>
  z
    .string()
    .transform((text) => readable(text).trim())
    .pipe(z.string().min(1, 'is empty').max(charactersMax, `takes over ${charactersMax} characters`))

const GetOrder = z.object({ order_id: Digits })
const CreateTicket = z.object({
  subject: Line(250),
  description: Line(10_000),
  order_id: z.preprocess((id) => (id === null || id === '' ? undefined : id), Digits.optional()),
})

const CallId = z.string().regex(/^[A-Za-z0-9_-]{1,60}$/, 'is not 1 to 60 Latin letters, digits, "_" or "-"')

/** What the model may ask for. Reads may be repeated at will; the ticket changes the CRM. */
export const Call = z.discriminatedUnion('name', [
  z.object({ id: CallId, name: z.literal('get_order'), arguments: GetOrder }),
  z.object({ id: CallId, name: z.literal('create_ticket'), arguments: CreateTicket }),
])
export type Call = z.output<typeof Call>

/** The same, as the model reads it. */
export const FUNCTIONS = [
  {
    name: 'get_order',
    description: 'Читает заказ из CRM по номеру: состояние, сумму, дату доставки. Ничего не меняет.',
    parameters: {
      type: 'object',
      properties: { order_id: { type: 'string', description: 'Номер заказа, только цифры' } },
      required: ['order_id'],
    },
  },
  {
    name: 'create_ticket',
    description: 'Создаёт обращение клиента в CRM. Не больше одного на запрос.',
    parameters: {
      type: 'object',
      properties: {
        subject: { type: 'string', description: 'Суть одной строкой, до 250 знаков' },
        description: { type: 'string', description: 'Что произошло, со всеми номерами из запроса' },
        order_id: { type: 'string', description: 'Номер заказа, если он назван' },
      },
      required: ['subject', 'description'],
    },
  },
] as const
