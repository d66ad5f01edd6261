import { z } from 'zod'

export const WorkerView = z.object({
  id: z.string(),
  release: z.string(),
  status: z.enum(['active', 'draining', 'stopped', 'lost']),
  handlers: z.array(z.string()),
  concurrency: z.int(),
  running: z.int(),
  startedAt: z.iso.datetime(),
  lastHeartbeatAt: z.iso.datetime(),
  hasLifeline: z.boolean(),
  loopLagMs: z.int().nullable(),
  rssBytes: z.int().nullable(),
})
export type WorkerView = z.infer<typeof WorkerView>

export const WorkerList = z.object({ items: z.array(WorkerView) })
export type WorkerList = z.infer<typeof WorkerList>
