import { migrate } from '../../src/store/migrate.ts'

// One process of several that start at once; see migrate.test.ts.
const report = await migrate({ url: process.argv[2] as string })
process.send?.(report, () => process.disconnect())
