import express from 'express'
import { connect, type TaskId } from 'foothold'
import { greet } from './greet.ts'

/** A worker inside an Express server: it starts before the server listens, and drains when the server is told to stop. */

const foothold = await connect(process.env['DATABASE_URL'])
const worker = foothold.worker({ agents: [greet] })
await worker.start()

const app = express()
app.use(express.json())
app.post('/greetings', async (request, response) => {
  const { id } = await foothold.submit(greet, request.body)
  response.status(202).json({ id })
})
app.get('/greetings/:id', async (request, response) => {
  response.json(await foothold.handle(request.params.id as TaskId).state())
})

const server = app.listen(Number(process.env['PORT'] ?? 3000), '127.0.0.1', () => {
  const address = server.address()
  console.log(`listens on http://127.0.0.1:${typeof address === 'object' ? address?.port : address}`)
})

process.once('SIGTERM', () => {
  server.close()
  void worker.drain().then(() => foothold.close())
})
