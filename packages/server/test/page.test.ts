import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { setup } from './setup.ts'

const FOLDER = new URL('../page/', import.meta.url)
const names = readdirSync(FOLDER)
const textOf = (name: string): string => readFileSync(new URL(name, FOLDER), 'utf8')

test('the page may load nothing but its own files', async () => {
  const { app } = setup()

  const response = await app.request('/')

  expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8')
  const policy = response.headers.get('content-security-policy') as string
  expect(policy).toContain("default-src 'none'")
  expect(policy).toContain("script-src 'self'")
  expect(policy).not.toContain('unsafe')
  expect(response.headers.get('x-content-type-options')).toBe('nosniff')
})

test('every file of the page is served, and every file it asks for exists', async () => {
  const { app } = setup()

  for (const name of names.filter((file) => file !== 'page.html')) {
    expect((await app.request(`/page/${name}`)).status, name).toBe(200)
  }
  const wanted = names.flatMap((name) => [...textOf(name).matchAll(/(?:from '\.\/|(?:src|href)="page\/)([\w.-]+)/g)])
  expect(wanted.length).toBeGreaterThan(5)
  for (const [, name] of wanted) expect(names).toContain(name)
})

test('text never becomes markup: the page knows no way to do it', () => {
  const scripts = names.filter((name) => name.endsWith('.js'))

  expect(scripts.length).toBeGreaterThan(3)
  for (const name of scripts) {
    expect(textOf(name), name).not.toMatch(
      /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function/,
    )
  }
  expect(textOf('page.html')).not.toMatch(/<script(?![^>]*src=)|\son\w+=|style=|https?:\/\//)
})

test('an unchanged file is answered with 304', async () => {
  const { app } = setup()
  const etag = (await app.request('/page/page.js')).headers.get('etag') as string

  const response = await app.request('/page/page.js', { headers: { 'if-none-match': etag } })

  expect(response.status).toBe(304)
})

test('without the page its addresses are 404', async () => {
  const { app } = setup({ page: false })

  expect((await app.request('/')).status).toBe(404)
  expect((await app.request('/page/page.js')).status).toBe(404)
})
