import { createServer as createHttpServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import express from 'express'
import { Hono } from 'hono'
import { afterEach, expect, test } from 'vitest'
import { createServer, serve } from '../src/index.ts'
import { memoryFoothold } from './memory-foothold.ts'

const open: (() => unknown)[] = []
afterEach(async () => {
  await Promise.all(open.splice(0).map(async (close) => close()))
})

async function inExpress(): Promise<string> {
  const app = express()
  const foothold = createServer({ foothold: memoryFoothold(), logger: 'silent' })
  app.use('/ops/foothold', (incoming, outgoing) => {
    void getRequestListener(foothold.fetch, { overrideGlobalObjects: false })(incoming, outgoing)
  })
  const server: Server = createHttpServer(app)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  open.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function inHono(): Promise<string> {
  const app = new Hono()
  app.route('/ops/foothold', createServer({ foothold: memoryFoothold(), logger: 'silent' }))
  return served(app)
}

async function byFetch(): Promise<string> {
  const app = new Hono()
  app.mount('/ops/foothold', createServer({ foothold: memoryFoothold(), logger: 'silent' }).fetch)
  return served(app)
}

async function served(app: Hono): Promise<string> {
  const server = await serve({ app })
  open.push(() => server.close())
  return server.url
}

test.each([
  ['an Express app', inExpress],
  ['a Hono app', inHono],
  ['a Hono app, by fetch', byFetch],
])('below a base path in %s the API, the page and its files are found', async (_, start) => {
  const url = await start()

  const submitted = await fetch(`${url}/ops/foothold/v1/tasks`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ agent: 'support', input: 'Здравствуйте' }),
  })
  const location = new URL(submitted.headers.get('location') as string, submitted.url)
  const page = await fetch(`${url}/ops/foothold`)
  const html = await page.text()
  const script = new URL(/<script[^>]* src="([^"]+)"/.exec(html)?.[1] as string, page.url)

  expect(submitted.status).toBe(201)
  expect((await fetch(location)).status).toBe(200)
  expect(page.url).toBe(`${url}/ops/foothold/`)
  expect((await fetch(script)).headers.get('content-type')).toBe('text/javascript; charset=utf-8')
  expect((await fetch(`${url}/ops/foothold/v1/nothing`)).headers.get('content-type')).toBe('application/problem+json')
})
