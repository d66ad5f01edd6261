import { z } from 'zod'

/** The body of every refusal: problem+json (RFC 9457). `code` is the contract, `detail` is for people. */
export const Problem = z.object({
  type: z.string(),
  title: z.string(),
  status: z.int(),
  detail: z.string(),
  code: z.string(),
  details: z.unknown(),
  /** Stands in the server's log as well, and in the header `X-Request-Id`. */
  requestId: z.string(),
})
export type Problem = z.infer<typeof Problem>

export const PROBLEM_CONTENT_TYPE = 'application/problem+json'
