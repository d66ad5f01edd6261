import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Context, Hono } from 'hono'
import type { ServerEnv } from './server-env.ts'

/** The page is static and knows nothing until it asks the API, so it needs no token itself. */
const FILES = {
  'page.css': 'text/css; charset=utf-8',
  'answer.js': 'text/javascript; charset=utf-8',
  'page.js': 'text/javascript; charset=utf-8',
  'api.js': 'text/javascript; charset=utf-8',
  'elements.js': 'text/javascript; charset=utf-8',
  'task-list.js': 'text/javascript; charset=utf-8',
  'task-view.js': 'text/javascript; charset=utf-8',
} as const

/** No inline script, no other host, no frame around it: text from tasks can do nothing even if it became markup. */
const SECURITY_HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
}

export function addPageRoutes(app: Hono<ServerEnv>): void {
  const page = asset('page.html', 'text/html; charset=utf-8')
  app.get('/', (context) => redirectToFolder(context) ?? answer(context, page))
  for (const [name, contentType] of Object.entries(FILES)) {
    const file = asset(name, contentType)
    app.get(`/page/${name}`, (context) => answer(context, file))
  }
  // Mounted below a base path in a Hono app, the folder itself falls through to here.
  app.get('/*', async (context, next) => {
    if (context.req.path !== context.req.routePath.replace(/\*$/, '')) return next()
    return answer(context, page)
  })
}

interface Asset {
  readonly text: string
  readonly contentType: string
  readonly etag: string
}

/** Beside `src` and `dist` alike. Read at start, so that a broken installation fails there. */
function asset(name: string, contentType: string): Asset {
  const text = readFileSync(new URL(`../page/${name}`, import.meta.url), 'utf8')
  return { text, contentType, etag: `"${createHash('sha256').update(text).digest('base64url').slice(0, 22)}"` }
}

function answer(context: Context, { text, contentType, etag }: Asset): Response {
  const headers = { ...SECURITY_HEADERS, etag, 'cache-control': 'no-cache' }
  if (context.req.header('if-none-match') === etag) return context.body(null, 304, headers)
  return context.body(text, 200, { ...headers, 'content-type': contentType })
}

/**
 * The page's addresses are relative, which is right below any base path if the page's own address ends in a slash. Whoever
 * mounts us (Express, Hono) may have cut the base path off already; Node's request still knows it.
 */
function redirectToFolder(context: Context<ServerEnv>): Response | null {
  const incoming = context.env?.incoming
  const address = incoming?.originalUrl ?? incoming?.url ?? context.req.path
  const path = address.replace(/[?#].*$/, '')
  if (path.endsWith('/') || path === '') return null
  const folder = path.slice(path.lastIndexOf('/') + 1)
  return context.redirect(`./${folder}/`, 308)
}
