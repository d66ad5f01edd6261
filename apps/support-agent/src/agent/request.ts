import { z } from 'zod'
import { base64Problem } from './base64.ts'
import { readable } from './readable-text.ts'

/** Requests are read by a model and a person: more than this is a file, not a question. */
export const TEXT_CHARACTERS_MAX = 100_000
export const ATTACHMENTS_MAX = 5
export const ATTACHMENT_BYTES_MAX = 5 * 1024 * 1024

/** Numbers come from JSON as numbers, and from an HTTP server of ours as bigint where they are large. */
const ClientId = z.union([z.string(), z.number(), z.bigint()]).transform((id, context): string => {
  const problem = clientIdProblem(id)
  if (problem !== null) context.addIssue({ code: 'custom', message: problem })
  return readable(String(id)).trim()
})

function clientIdProblem(id: string | number | bigint): string | null {
  // Its last digits were lost before anyone could look, so it is refused instead of guessed.
  if (typeof id === 'number' && !Number.isSafeInteger(id))
    return 'is no exact whole number: send it as a string of digits'
  const text = String(id).trim()
  if (text === '') return 'is empty: name the client'
  return text.length > 200 ? 'takes over 200 characters' : null
}

const Attachment = z
  .object({
    name: z.string().min(1, 'is empty: name the file').max(255, 'takes over 255 characters'),
    contentType: z.string().max(200).optional(),
    text: z.string().optional(),
    base64: z.string().optional(),
  })
  .superRefine((attachment, context) => {
    const { text, base64 } = attachment
    if ((text === undefined) === (base64 === undefined)) {
      context.addIssue({ code: 'custom', message: 'needs either `text` or `base64`, and not both' })
      return
    }
    const bytes = text === undefined ? base64Bytes(base64 ?? '') : Buffer.byteLength(text)
    if (bytes > ATTACHMENT_BYTES_MAX) {
      context.addIssue({
        code: 'custom',
        message: `takes ${bytes} bytes, the limit is ${ATTACHMENT_BYTES_MAX}: send the part that matters`,
      })
    }
    const problem = base64 === undefined ? null : base64Problem(base64)
    if (problem !== null) context.addIssue({ code: 'custom', path: ['base64'], message: problem })
  })

export const SupportRequest = z
  .object({
    client: z.object({ id: ClientId, name: z.string().max(200, 'takes over 200 characters').optional() }),
    text: z
      .string()
      .max(TEXT_CHARACTERS_MAX, `takes over ${TEXT_CHARACTERS_MAX} characters: send the rest as an attachment`)
      .default(''),
    attachments: z
      .array(Attachment)
      .max(ATTACHMENTS_MAX, `more than ${ATTACHMENTS_MAX} files: send the rest in another request`)
      .default([]),
    replyTo: z
      .url({ protocol: /^https?$/, error: 'is not an http(s) address: give a full URL or leave it out' })
      .max(2_000, 'takes over 2000 characters')
      .optional(),
    locale: z
      .string()
      .regex(/^[A-Za-z]{2,3}([-_][A-Za-z0-9]{1,8})*$/, 'is not a language tag: for example ru, en or de-AT')
      .optional(),
  })
  .refine((request) => !isBlank(request.text) || request.attachments.length > 0, {
    path: ['text'],
    message: 'is empty: write what the client asks, or attach a file',
  })

export type SupportRequest = z.output<typeof SupportRequest>
export type Attachment = SupportRequest['attachments'][number]

/** White space, invisible characters and U+0000 ask nothing. */
function isBlank(text: string): boolean {
  return text.replace(/[\s\p{Cf}\p{Cc}\p{Cs}]/gu, '') === ''
}

/** What it decodes to: padding and line breaks are no bytes of the file. */
function base64Bytes(base64: string): number {
  return Math.floor((base64.replace(/[\s=]/g, '').length * 3) / 4)
}
