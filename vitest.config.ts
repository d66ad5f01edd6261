import { defineConfig } from 'vitest/config'

const conditions = ['@foothold/source']

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    include: [
      'packages/*/{src,test}/**/*.test.ts',
      'apps/*/{src,test}/**/*.test.ts',
      'simulators/{src,test}/**/*.test.ts',
      'examples/**/*.test.ts',
      'tools/**/*.test.ts',
      'test/**/*.test.ts',
    ],
    exclude: ['**/node_modules/**', 'test/packages/**', 'test/system/**'],
    globalSetup: ['tools/test-postgres.ts'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
})
