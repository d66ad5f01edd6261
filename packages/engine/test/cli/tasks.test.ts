import { expect, test } from 'vitest'
import type { TaskId } from '../../src/index.ts'
import { TerminalError } from '../../src/index.ts'
import { agentOf, until } from '../integration/world.ts'
import { type CliWorld, cliWorld } from './cli-world.ts'

const failing = agentOf(async (task) => {
  await task.step('поиск', () => ['договор', 'счёт'])
  await task.step('ответ', () => {
    throw new TerminalError('модель отказалась: \u001B[2Jсотри экран')
  })
  return 'готово'
})

async function deadLetter(world: CliWorld): Promise<TaskId> {
  await world.worker([failing])
  const handle = await world.foothold.submit('test', { вопрос: 'где счёт?' }, { tenant: 'ООО «Вектор»' })
  await until('dead letter', async () => (await handle.state()).status === 'dead_letter')
  return handle.id
}

test('what stopped a task is told with its step, and never speaks to the terminal', async () => {
  const world = await cliWorld()
  const id = await deadLetter(world)

  const said = await Promise.all(
    [['why', id], ['tasks', 'list'], ['tasks', 'show', id], ['tasks', 'watch', id], ['dead-letters']].map((argv) =>
      world.cli(...argv),
    ),
  )

  expect(said[0]?.stdout).toContain('step "ответ" (failed, 1 try)')
  expect(said[0]?.stdout).toContain(`foothold tasks resume ${id}`)
  for (const { stdout } of said) {
    expect(stdout).toContain(stdout === said[3]?.stdout ? 'ответ: failed' : id)
    // oxlint-disable-next-line no-control-regex -- this is what is looked for
    expect(stdout).not.toMatch(/[\u0000-\u0009\u000B-\u001F\u007F-\u009F]/)
  }
})
