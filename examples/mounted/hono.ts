import { serve } from '@hono/node-server'
import { connect, type TaskId } from 'foothold'
import { Hono } from 'hono'
import { greet } from './greet.ts'

/** A worker inside a Hono server: it starts before the server listens, and drains when the server is told to stop. */

const foothold = await connect(process.env['DATABASE_URL'])
const worker = foothold.worker({ agents: [greet] })
await worker.start()

const app = new Hono()
  .post('/greetings', async (c) => {
    const { id } = await foothold.submit(greet, await c.req.json())
    return c.json({ id }, 202)
  })
  .get('/greetings/:id', async (c) => c.json(await foothold.handle(c.req.param('id') as TaskId).state()))

const server = serve(
  { fetch: app.fetch, hostname: '127.0.0.1', port: Number(process.env['PORT'] ?? 3000) },
  ({ port }) => console.log(`listens on http://127.0.0.1:${port}`),
)

process.once('SIGTERM', () => {
  server.close()
  void worker.drain().then(() => foothold.close())
})
