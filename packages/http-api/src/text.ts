import { z } from 'zod'

/** PostgreSQL's text cannot hold NUL; half a surrogate pair is not text in any encoding. */
const NOT_TEXT = /\0|[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/

const plainText = z.string().refine((text) => !NOT_TEXT.test(text), 'contains U+0000 or half of a surrogate pair')

/** Keys, tenants and names stand in indexes: 512 bytes of UTF-8 at most. */
export const keyText = plainText
  .min(1, 'is empty')
  .refine((text) => new TextEncoder().encode(text).length <= 512, 'takes more than 512 bytes in UTF-8')

/** A sentence by a person, shown in lists. */
export const sentence = plainText.max(500, 'is longer than 500 characters')
