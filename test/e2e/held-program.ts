import { holdAt } from 'foothold/testing'

/**
 * The application's own entry, run when the test says so, with one point of the engine held until it is released: inside
 * `verify` no request is under way at which a gate of a simulator could hold it. Arguments: the mode, settings as JSON.
 */
export interface HeldProgramSettings {
  readonly holdAt?: { readonly point: 'step.ran' | 'effect.answered'; readonly key: string }
}

const [mode, settings = '{}'] = process.argv.slice(2)
const { holdAt: at } = JSON.parse(settings) as HeldProgramSettings
if (at !== undefined) {
  const held = holdAt(at.point, at.key)
  void held.reached.then(({ taskId }) => process.send?.({ type: 'held', taskId }))
  process.on('message', (message) => {
    if (message === 'release') held.release()
  })
}
// Loading from source takes seconds on a busy machine; what runs after it does not.
await import(`../../apps/support-agent/src/processes/${mode}.ts`)
const isToldToGo = new Promise<void>((resolve) => {
  process.on('message', (message) => {
    if (message === 'go') resolve()
  })
})
const orphaned = (): never => process.exit(3)
process.on('disconnect', orphaned)
process.send?.({ type: 'loaded' })
await isToldToGo
process.off('disconnect', orphaned)
await import('../../apps/support-agent/src/main.ts')
