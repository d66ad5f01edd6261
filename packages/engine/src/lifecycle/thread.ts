import { existsSync } from 'node:fs'
import { Worker } from 'node:worker_threads'

export interface ThreadEntry {
  /** The caller's import.meta.url. Bundled into CommonJS it has none. */
  readonly url: string | undefined
  /** The thread's file seen from the caller, without its ending: './heartbeat-thread'. */
  readonly name: string
  /** The same thread as a CommonJS script that needs no other file, where one was packed. */
  readonly text: string | null
}

/**
 * The only place that starts a thread. Nothing rewrites a URL in `new Worker(…)`, so the ending is chosen here: `.ts`
 * beside source, `.js` beside built code. In a program bundled into one file nothing lies beside it: the text is run.
 */
export function startThread(entry: ThreadEntry, workerData: unknown): Worker {
  const options = { workerData, ...inheritedArguments() }
  const url = urlBeside(entry)
  if (entry.text !== null && (url === null || !existsSync(url)))
    return new Worker(entry.text, { eval: true, ...options })
  if (url === null) throw new Error(`The file of the thread ${entry.name} cannot be found from a bundle.`)
  if (url.pathname.endsWith('.js') || canRunTypeScript()) return new Worker(url, options)
  return new Worker(throughTsx(url), { eval: true, ...options })
}

/** Null where the caller's own address is not that of a file. */
function urlBeside({ url, name }: ThreadEntry): URL | null {
  if (url === undefined || !url.startsWith('file:')) return null
  return new URL(name + (new URL(url).pathname.endsWith('.ts') ? '.ts' : '.js'), url)
}

/** What decides which code is found, each with its value apart or behind `=`. */
const CODE_ARGUMENTS = /^(--conditions|-C|--import|--require|-r|--loader|--experimental-loader)(=|$)/

/**
 * Not given, a thread takes all arguments of its process, V8's and the process's own among them; given, it refuses those
 * (`--max-old-space-size`, `--title`). Only --input-type makes a choice necessary: it belongs to the text of `-e`, and a
 * thread that runs a file refuses to start with it.
 */
function inheritedArguments(): { readonly execArgv?: string[] } {
  const all = process.execArgv
  if (!all.some((argument) => argument.startsWith('--input-type'))) return {}
  const execArgv = all.filter((argument, index) => {
    const before = all[index - 1] ?? ''
    return CODE_ARGUMENTS.test(argument) || (CODE_ARGUMENTS.test(before) && !before.includes('='))
  })
  return { execArgv }
}

/** Node 22.18 and later; Node 20 answers a thread's .ts file with ERR_UNKNOWN_FILE_EXTENSION, also under `--import tsx`. */
function canRunTypeScript(): boolean {
  return Boolean((process.features as { readonly typescript?: unknown }).typescript)
}

/** A loader is registered per thread; this one registers tsx's, found from here, before it imports the file. */
function throughTsx(url: URL): string {
  const tsx = import.meta.resolve('tsx/esm/api')
  return `import(${JSON.stringify(tsx)}).then(({ register }) => {
    register()
    return import(${JSON.stringify(url.href)})
  })`
}
