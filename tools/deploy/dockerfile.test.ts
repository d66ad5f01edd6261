import { expect, test } from 'vitest'
import { durationMs, readDeployFile } from './deploy-files.ts'
import { instructionsOf, lastOf, parseDockerfile } from './dockerfile.ts'
import { dockerfileProblems } from './dockerfile-problems.ts'

const text = readDeployFile('Dockerfile')
const TARGETS = ['server', 'worker']

test.each(TARGETS)(
  'the image of the %s runs its program itself, not as root, and is told to stop by SIGTERM',
  (target) => {
    expect(dockerfileProblems(parseDockerfile(text), target)).toEqual([])
  },
)

test.each(TARGETS)('the %s says by itself whether it is well', (target) => {
  const health = lastOf(instructionsOf(parseDockerfile(text), target), 'HEALTHCHECK')
  const interval = health?.flags.find((flag) => flag.startsWith('interval='))?.slice('interval='.length)

  expect(health?.exec?.[0]).toBe('node')
  expect(durationMs(interval ?? '')).toBeLessThanOrEqual(30_000)
})

test('what a build without a target gives is the worker', () => {
  expect(parseDockerfile(text).at(-1)?.name).toBe('worker')
})

test.each([
  [
    'CMD ["node", "apps/support-agent/dist/main.js", "worker"]',
    'CMD node apps/support-agent/dist/main.js worker',
    'CMD is not in exec form',
  ],
  ['CMD ["node", "apps/support-agent/dist/main.js", "worker"]', 'CMD ["npm", "start"]', 'CMD starts npm'],
  // A trailing comma: Docker takes it for the shell form without a word.
  [
    'CMD ["node", "deploy/worker-ready.js"]',
    'CMD ["node", "deploy/worker-ready.js",]',
    'HEALTHCHECK is not in exec form',
  ],
  ['USER node\n', '', 'USER is not set'],
  ['USER node\n', 'USER root\n', 'USER is root'],
  ['STOPSIGNAL SIGTERM', 'STOPSIGNAL SIGQUIT', 'STOPSIGNAL is SIGQUIT'],
  ['ENV NODE_ENV=production', 'ENV NODE_ENV=development', 'NODE_ENV is not production'],
])('where %j became %j, the check finds it', (right, wrong, problem) => {
  const broken = text.replace(right, wrong)

  expect(broken).not.toBe(text)
  expect(dockerfileProblems(parseDockerfile(broken), 'worker')).toEqual([expect.stringContaining(problem)])
})
