import { defineConfig } from 'vitest/config'

const conditions = ['@foothold/source']

/** The system beside programs that come from elsewhere: needs what .ci/run installs from Debian. */
export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    include: ['test/system/**/*.test.ts'],
    globalSetup: ['tools/test-postgres.ts'],
    // Each file fills a small machine by itself.
    fileParallelism: false,
    testTimeout: 300_000,
    hookTimeout: 60_000,
  },
})
