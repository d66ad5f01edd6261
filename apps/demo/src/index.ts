export type { DemoSurroundings } from './demo.ts'
export { runDemo } from './demo.ts'
