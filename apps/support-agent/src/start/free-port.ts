import { createServer } from 'node:net'

/** Null when the port can be listened on; the system's code otherwise (EADDRINUSE, EACCES). */
export function portProblem(host: string, port: number): Promise<string | null> {
  return new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    probe.listen({ port, host, exclusive: true }, () => probe.close(() => resolve(null)))
  })
}

/** The wanted port where it is free, else 0: the system then chooses. */
export async function wantedOrAny(host: string, port: number): Promise<number> {
  return (await portProblem(host, port)) === null ? port : 0
}
