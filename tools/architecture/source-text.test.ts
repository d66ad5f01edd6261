import { expect, test } from 'vitest'
import { importsOf } from './import-graph.ts'
import { readSourceText } from './source-text.ts'

test('every way of importing is seen, once each', () => {
  const text = `
    import one from './one.ts'
    import type { Two } from "./two.ts"
    import {
      three, // with a comment: from './not.ts'
      type Three,
    } from './three.ts'
    import './four.ts'
    export * from './five.ts'
    export { six } from './six.ts'
    const seven = await import('./seven.ts')
    type Eight = import('./eight.ts').Eight
    const nine = createRequire(import.meta.url)('x'), ten = require('./ten.ts')
    import * as eleven from './eleven.ts'
    await import(\`./twelve.ts\`)
  `

  const imports = importsOf(readSourceText(text))

  expect(imports.map(({ specifier }) => specifier).toSorted()).toEqual(
    ['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'ten', 'eleven', 'twelve']
      .map((name) => `./${name}.ts`)
      .toSorted(),
  )
  expect(imports.filter(({ isTypeOnly }) => isTypeOnly)).toEqual([{ specifier: './two.ts', isTypeOnly: true }])
})

test('an import counts as type-only when nothing of it is left at run time', () => {
  const text = `
    import type { A } from './a.ts'
    import { type B } from './b.ts'
    export type { C } from './c.ts'
    import type from './d.ts'
    import type { E } from './e.ts'
    import { e } from './e.ts'
  `

  const only = importsOf(readSourceText(text)).filter(({ isTypeOnly }) => isTypeOnly)

  expect(only.map(({ specifier }) => specifier)).toEqual(['./a.ts', './c.ts'])
})

test('texts and comments about imports are not imports', () => {
  const text = `
    // import a from './a.ts'
    /* export * from './b.ts' */
    const c = "import c from './c.ts'"
    const d = \`import d from './d.ts' \${e('import("./e.ts")')} \`
    const f = /import ('.\\/f.ts')/
    const from = 'x'; const g = 4 / 2; const h = "'" + './h.ts'
  `

  expect(importsOf(readSourceText(text))).toEqual([])
})

test("a template's holes are code and its text is a string", () => {
  const { code, strings } = readSourceText('const a = `select ${process.env.X} from ${`b${c}`} t`; process.exit()')

  expect(strings).toEqual(['b?', 'select ? from ? t'])
  expect(code).toContain('process.env.X')
  expect(code).toContain('process.exit()')
})

test('an apostrophe outside a string does not swallow the rest of the file', () => {
  const text = `const a = <p>don't stop</p>\nimport b from './b.ts'\n`

  expect(importsOf(readSourceText(text))).toMatchObject([{ specifier: './b.ts' }])
})
