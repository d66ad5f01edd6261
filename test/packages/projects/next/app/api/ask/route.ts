import { connect, type Foothold } from 'foothold'

/** One connection per process, made at the first request: a build has no database. */
let connected: Promise<Foothold> | undefined
const foothold = () => (connected ??= connect(process.env.DATABASE_URL))

export async function POST(request: Request): Promise<Response> {
  const handle = await (await foothold()).submit('greet', await request.json())
  return Response.json({ id: handle.id, answer: await handle.result({ timeoutMs: 30_000 }) })
}
