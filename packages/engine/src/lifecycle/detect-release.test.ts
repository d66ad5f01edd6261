import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { detectRelease } from './detect-release.ts'

const COMMIT = 'f1d2d2f924e986ac86fdf7b36c94bcdf32beec15'

function folder(): string {
  const path = realpathSync(mkdtempSync(join(tmpdir(), 'foothold-release-')))
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  return path
}

/** A repository made by git itself, with one commit. */
function repository(): { at: string; git: (...args: string[]) => string; head: () => string } {
  const at = folder()
  const git = (...args: string[]): string =>
    execFileSync('git', ['-C', at, '-c', 'user.name=Анна', '-c', 'user.email=anna@example.org', ...args], {
      encoding: 'utf8',
    }).trim()
  git('init', '--quiet', '--initial-branch=main')
  git('commit', '--quiet', '--allow-empty', '--message=первый')
  return { at, git, head: () => git('rev-parse', 'HEAD').slice(0, 12) }
}

test('what was set by hand comes first, then what the platform sets', () => {
  const cwd = folder()

  expect(detectRelease({ cwd, env: { FOOTHOLD_RELEASE: 'выпуск 7', GIT_SHA: COMMIT } })).toBe('выпуск 7')
  expect(detectRelease({ cwd, env: { FOOTHOLD_RELEASE: ' ', RENDER_GIT_COMMIT: COMMIT } })).toBe('f1d2d2f924e9')
  expect(detectRelease({ cwd, env: { K_REVISION: 'support-00042-xyz' } })).toBe('support-00042-xyz')
})

test('in a checkout it is the commit, from any folder in it, on a branch, packed away, detached, and in a worktree', () => {
  const { at, git, head } = repository()
  const below = join(at, 'apps', 'магазин')
  mkdirSync(below, { recursive: true })
  const detected = (cwd: string): string | undefined => detectRelease({ cwd, env: {} })
  const first = head()

  expect(detected(below)).toBe(first)
  git('pack-refs', '--all')
  expect(detected(at)).toBe(first)
  const worktree = join(folder(), 'рядом')
  git('worktree', 'add', '--quiet', '-b', 'other', worktree)
  expect(detected(worktree)).toBe(first)
  git('commit', '--quiet', '--allow-empty', '--message=второй')
  git('checkout', '--quiet', '--detach')
  expect(head()).not.toBe(first)
  expect(detected(at)).toBe(head())
  expect(detected(worktree)).toBe(first)
})

test('without git it is the version of the nearest package that has one', () => {
  const at = folder()
  const below = join(at, 'dist')
  mkdirSync(below)
  writeFileSync(join(at, 'package.json'), '{"name": "магазин", "version": "1.4.2"}')
  writeFileSync(join(below, 'package.json'), '{"type": "module"}')

  expect(detectRelease({ cwd: below, env: {} })).toBe('магазин@1.4.2')
})

test('where nothing tells it is undefined, and what cannot be read is passed over', () => {
  const at = folder()
  mkdirSync(join(at, '.git'))
  writeFileSync(join(at, '.git', 'HEAD'), 'ref: refs/heads/none')
  writeFileSync(join(at, 'package.json'), '{')

  expect(detectRelease({ cwd: at, env: {} })).toBeUndefined()
})
