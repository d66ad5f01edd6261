import { Worker } from 'node:worker_threads'

export interface ThreadEntry {
  /** The caller's import.meta.url. */
  readonly url: string
  /** The thread's file seen from the caller, without its ending: './heartbeat-thread'. */
  readonly name: string
}

/**
 * The only place that starts a thread. Nothing rewrites a URL in `new Worker(…)`, so the ending is chosen here: `.ts`
 * beside source, `.js` beside built code.
 */
export function startThread(entry: ThreadEntry, workerData: unknown): Worker {
  const isSource = new URL(entry.url).pathname.endsWith('.ts')
  const url = new URL(entry.name + (isSource ? '.ts' : '.js'), entry.url)
  const options = { workerData, ...inheritedArguments() }
  if (!isSource || canRunTypeScript()) return new Worker(url, options)
  return new Worker(throughTsx(url), { eval: true, ...options })
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
