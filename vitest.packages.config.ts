import { defineConfig } from 'vitest/config'

const conditions = ['@foothold/source']

/** The packed packages in other people's projects: needs the npm registry. */
export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    include: ['test/packages/*.test.ts'],
    globalSetup: ['tools/test-postgres.ts', 'test/packages/packed.ts'],
    // npm's own writing and unpacking fills both cores of a small machine.
    maxWorkers: 2,
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
})
