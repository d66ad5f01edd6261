import { expect, test } from 'vitest'
import { z } from 'zod'
import { signal, type TaskEvent, type TaskId, TerminalError } from '../../src/index.ts'
import { agentOf, gate, until } from '../integration/world.ts'
import { type CliWorld, cliWorld } from './cli-world.ts'

const HOSTILE = 'модель отказалась: \u001B[2J\u009B1mсотри экран\u202E'

const failing = agentOf(async (task) => {
  await task.step('поиск', () => ['договор', 'счёт'])
  await task.step('ответ', () => {
    throw new TerminalError(HOSTILE)
  })
  return 'готово'
})

async function ended(world: CliWorld, id: TaskId, status: string): Promise<void> {
  await until(`${id} is ${status}`, async () => (await world.foothold.task(id))?.status === status)
}

async function deadLetter(world: CliWorld): Promise<TaskId> {
  const { id } = await world.foothold.submit('test', { вопрос: 'где счёт?' }, { tenant: 'ООО «Вектор»' })
  await ended(world, id, 'dead_letter')
  return id
}

test('what stopped a task is told with its step, and never speaks to the terminal', async () => {
  const world = await cliWorld()
  await world.worker([failing])
  const id = await deadLetter(world)
  const lines = [['why', id], ['tasks', 'list'], ['tasks', 'show', id], ['tasks', 'watch', id], ['dead-letters']]

  const said = await Promise.all(lines.map((argv) => world.cli(...argv)))
  const documents = await Promise.all(lines.map((argv) => world.cli(...argv, '--json')))

  expect(said[0]?.stdout).toContain('resume    will repeat: ответ; will not repeat: поиск')
  expect(said[0]?.stdout).toContain(`next      foothold tasks resume ${id}`)
  expect(said[2]?.stdout).toContain('{"вопрос":"где счёт?"}')
  expect(said[3]?.stdout).toContain(
    'ответ: failed: TerminalError: модель отказалась: \\u001b[2J\\u009b1mсотри экран\\u202e',
  )
  for (const { stdout } of [...said, ...documents]) {
    // oxlint-disable-next-line no-control-regex -- this is what is looked for
    expect(stdout).not.toMatch(/[\u0000-\u0009\u000B-\u001F\u007F-\u009F\u202E]/)
  }
  expect(documents[0]?.json()).toMatchObject({ id, status: 'dead_letter', reason: 'step_failed', stored: ['поиск'] })
  expect(documents[4]?.json()).toMatchObject({ items: [{ id, error: { message: expect.stringContaining(HOSTILE) } }] })
})

test('lists are pages, filtered by status, agent and tenant', async () => {
  const world = await cliWorld()
  await world.worker([failing])
  const dead = await deadLetter(world)
  await world.stopWorkers()
  const second = await world.foothold.submit('test', 2)
  const third = await world.foothold.submit('test', 3)
  const idsOf = async (...argv: string[]): Promise<unknown> => {
    const answer = await world.cli('tasks', 'list', '--json', ...argv)
    return (answer.json() as { items: { id: string }[] }).items.map(({ id }) => id)
  }

  const first = await world.cli('tasks', 'list', '--limit', '2')

  expect(
    first.stdout
      .split('\n')
      .slice(1, 3)
      .map((line) => line.slice(0, 36)),
  ).toEqual([third.id, second.id])
  const cursor = /--cursor (\S+)/.exec(first.stderr)?.[1] as string
  expect(await idsOf('--cursor', cursor)).toEqual([dead])
  expect(await idsOf('--status', 'pending')).toEqual([third.id, second.id])
  expect(await idsOf('--tenant', 'ООО «Вектор»')).toEqual([dead])
  expect(await idsOf('--agent', 'other')).toEqual([])
  expect((await world.cli('tasks', 'list', '--agent', 'other')).stderr).toBe('No tasks.\n')
})

test('show gives values as they are stored, whole in JSON and on demand', async () => {
  const world = await cliWorld()
  const long = 'я'.repeat(1_000)
  await world.worker([agentOf((task) => task.step('шаг', () => ({ at: new Date(0), n: 9007199254740993n, long })))])
  const { id } = await world.foothold.submit('test', { from: 'анна' })
  await ended(world, id, 'completed')

  const [short, full, json] = [
    await world.cli('tasks', 'show', id),
    await world.cli('tasks', 'show', id, '--full'),
    await world.cli('tasks', 'show', id.toUpperCase(), '--json'),
  ]

  expect(short.stdout).not.toContain(long)
  expect(full.stdout).toContain(long)
  const output = {
    at: { $foothold: 'date', value: '1970-01-01T00:00:00.000Z' },
    n: { $foothold: 'bigint', value: '9007199254740993' },
    long,
  }
  expect(json.json()).toMatchObject({ id, status: 'completed', input: { from: 'анна' }, output, steps: [{ output }] })
})

test('a task that is not there is an error that says where to look', async () => {
  const world = await cliWorld()
  const id = '0199d2c4-7e1f-7a30-8c5e-2f6b1d9a4e07'

  for (const argv of [
    ['tasks', 'show', id],
    ['tasks', 'watch', id],
    ['why', id],
    ['tasks', 'cancel', id],
  ]) {
    const answer = await world.cli(...argv)
    expect(answer).toMatchObject({ code: 1, stdout: '' })
    expect(answer.stderr).toBe(`foothold: There is no task ${id}.\nNewest tasks: foothold tasks list\n`)
  }
})

test('a watch shows text as it is written, each event a line in JSON, and exits with the end of the task', async () => {
  const world = await cliWorld()
  const rest = gate()
  await world.worker([
    agentOf((task) =>
      task.step('ответ', async ({ emit }) => {
        emit('text', 'Ваш счёт\n')
        emit('text', '№ 55\u001B[31m')
        await rest.opened
        return 'готово'
      }),
    ),
  ])
  const { id } = await world.foothold.submit('test', null)

  const text = world.start('tasks', 'watch', id)
  const json = world.start('tasks', 'watch', id, '--json')
  await until('both show the text', () => text.written().includes('№ 55') && json.written().includes('№ 55'))
  rest.open()

  const [plain, events] = await Promise.all([text.answer, json.answer])
  expect(plain.code).toBe(0)
  expect(plain.stdout).toMatch(/ответ, text:\nВаш счёт\n№ 55\\u001b\[31m\nответ: completed\ncompleted\n$/)
  const seen = events.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as TaskEvent)
  expect(seen.at(-1)).toMatchObject({ type: 'status', status: 'completed' })
  const chunk = seen.find((event) => event.type === 'chunk')
  const after = await world.cli('tasks', 'watch', id, '--json', '--after', chunk?.cursor ?? '')
  expect(after.stdout).not.toContain('Ваш счёт')
})

test('Ctrl-C ends a watch with its own exit code and leaves the task alone', async () => {
  const world = await cliWorld()
  const rest = gate()
  await world.worker([agentOf((task) => task.step('долго', () => rest.opened))])
  const { id } = await world.foothold.submit('test', null)
  const watch = world.start('tasks', 'watch', id)
  await until('the watch has begun', () => watch.written().includes('processing'))

  watch.stop('SIGINT')

  expect(await watch.answer).toMatchObject({ code: 130, stderr: '' })
  expect((await world.foothold.task(id))?.cancelRequestedAt).toBeNull()
  rest.open()
  await ended(world, id, 'completed')
})

test('cancel says whether it is done, asked for, or too late', async () => {
  const world = await cliWorld()
  await world.worker([
    agentOf(async (task, input) => {
      if (input === 'wait') await task.waitForSignal('согласие', signal('consent', z.string()))
      return 'готово'
    }),
  ])
  const waiting = await world.foothold.submit('test', 'wait')
  const done = await world.foothold.submit('test', 'done')
  await Promise.all([ended(world, waiting.id, 'waiting'), ended(world, done.id, 'completed')])

  const cancelled = await world.cli('tasks', 'cancel', waiting.id, '--reason', 'клиент передумал')
  const again = await world.cli('tasks', 'cancel', waiting.id)
  const late = await world.cli('tasks', 'cancel', done.id, '--json')

  expect(cancelled).toMatchObject({ code: 0, stdout: `${waiting.id} is cancelled.\n` })
  expect(again).toMatchObject({ code: 0, stdout: `${waiting.id} had ended already: it is cancelled.\n` })
  expect(late.code).toBe(1)
  expect(late.json()).toEqual({ id: done.id, outcome: 'already_ended', status: 'completed' })
  expect((await world.cli('why', waiting.id)).stdout).toContain('it was cancelled: клиент передумал')
})

test('a dead letter is resumed from its failed step; a task that is none is not', async () => {
  const world = await cliWorld()
  let isMended = false
  let searches = 0
  await world.worker([
    agentOf(async (task) => {
      await task.step('поиск', () => (searches += 1))
      return task.step('ответ', () => {
        if (!isMended) throw new TerminalError('не вышло')
        return 'готово'
      })
    }),
  ])
  const id = await deadLetter(world)
  isMended = true

  const resumed = await world.cli('tasks', 'resume', id)
  await ended(world, id, 'completed')
  const again = await world.cli('tasks', 'resume', id)

  expect(resumed).toMatchObject({ code: 0, stdout: `${id} goes on. See: foothold tasks watch ${id}\n` })
  expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('only a dead letter can be resumed') })
  expect(searches).toBe(1)
})

test('a restart that would repeat effects names them and does nothing, until it is told to', async () => {
  const world = await cliWorld()
  let sent = 0
  await world.worker([
    agentOf(async (task) => {
      await task.step('поиск', () => 'найдено')
      await task.effect('возврат', { request: { сумма: 100 }, keyWindowMs: 60_000, send: async () => (sent += 1) })
      return task.step('ответ', () => `готово: ${sent}`)
    }),
  ])
  const { id } = await world.foothold.submit('test', null)
  await ended(world, id, 'completed')

  const misspelt = await world.cli('tasks', 'restart', id, '--from', 'повск')
  const refused = await world.cli('tasks', 'restart', id, '--from', 'поиск')
  const harmless = await world.cli('tasks', 'restart', id, '--from', 'ответ', '--json')
  await ended(world, id, 'completed')
  const sentBefore = sent
  const told = await world.cli('tasks', 'restart', id, '--from', 'поиск', '--repeat-effects')
  await ended(world, id, 'completed')

  expect(misspelt).toMatchObject({ code: 1, stderr: expect.stringContaining('Did you mean "поиск"?') })
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringMatching(/again: возврат\. Nothing was restarted/) })
  expect(harmless.json()).toEqual({ id, forgotten: ['ответ'], repeatedEffects: [] })
  expect(sentBefore).toBe(1)
  expect(told).toMatchObject({ code: 0, stdout: `${id} begins again from поиск: поиск, возврат, ответ.\n` })
  expect(told.stderr).toContain('May take place again: возврат')
  expect(sent).toBe(2)
})

test('a person decides on an effect in doubt: done with its result, or not done and sent again', async () => {
  const world = await cliWorld()
  let sent = 0
  await world.worker([
    agentOf((task) =>
      task.effect('возврат №1', {
        request: { сумма: 100 },
        onDoubt: 'ask',
        send: async () => {
          sent += 1
          if (sent <= 2) throw new Error('связь оборвалась')
          return 'прошёл'
        },
      }),
    ),
  ])
  const one = await world.foothold.submit('test', 1)
  const other = await world.foothold.submit('test', 2)
  await Promise.all([ended(world, one.id, 'waiting'), ended(world, other.id, 'waiting')])

  const asked = await world.cli('why', one.id)
  const misspelt = await world.cli('decide', one.id, 'возрат №1', '--not-done', '--by', 'анна')
  const done = await world.cli('decide', one.id, 'возврат №1', '--done', '{"номер":"А-17"}', '--by', 'анна')
  const notDone = await world.cli('decide', other.id, 'возврат №1', '--not-done', '--by', 'анна', '--json')

  expect(asked.stdout).toContain('a person must look at the receiver and decide')
  expect(asked.stdout).toContain(`foothold decide ${one.id} 'возврат №1' --not-done --by <you>`)
  expect(misspelt).toMatchObject({ code: 1, stderr: expect.stringContaining('Did you mean "возврат №1"?') })
  expect(done.stdout).toContain('Stored: возврат №1 happened.')
  expect(notDone.json()).toEqual({ id: other.id, step: 'возврат №1', outcome: 'not_done', by: 'анна' })
  expect(await one.result()).toEqual({ номер: 'А-17' })
  expect(await other.result()).toBe('прошёл')
  expect((await world.foothold.task(one.id))?.steps[0]?.workerId).toBe('person:анна')
})

test('workers are listed while they live, the others on demand', async () => {
  const world = await cliWorld()
  const worker = await world.worker([failing], { release: 'выпуск-7' })
  const alive = await world.cli('workers')
  await world.stopWorkers()
  const gone = await world.cli('workers')
  const all = await world.cli('workers', '--all', '--json')

  expect(alive.stdout).toContain(worker.id)
  expect(alive.stdout).toContain('выпуск-7')
  expect(gone).toMatchObject({ code: 0, stdout: '' })
  expect(gone.stderr).toContain('1 that stopped or were lost are not shown: --all')
  expect(all.json()).toMatchObject({ items: [{ id: worker.id, status: 'stopped' }] })
})

test('the lifeline is switched off and on with a reason, and the doctor and the list of workers say so', async () => {
  const world = await cliWorld()
  await world.worker([failing])
  const before = await world.cli('lifeline')
  const off = await world.cli('lifeline', '--off', '--reason', 'сеть рвёт соединения', '--by', 'анна')
  const [doctor, workers] = await Promise.all([world.cli('doctor'), world.cli('workers')])
  const again = await world.cli('lifeline', '--off', '--by', 'борис', '--json')
  const on = await world.cli('lifeline', '--on', '--json')
  const both = await world.cli('lifeline', '--on', '--off')

  expect(before.stdout).toBe('The lifeline is on: killed workers are noticed at once.\n')
  const text = /The lifeline was switched off by анна .*: сеть рвёт соединения/
  for (const answer of [off, doctor, workers]) expect(answer.stdout + answer.stderr).toMatch(text)
  expect(doctor.stdout).toContain('foothold lifeline --on')
  // The first word stands.
  expect(again.json()).toMatchObject({ isOn: false, by: 'анна' })
  expect(on.json()).toEqual({ isOn: true })
  expect(both).toMatchObject({ code: 2 })
})

test('what is paused is shown wherever a person looks, and goes on when told so', async () => {
  const world = await cliWorld()
  await world.worker([agentOf(async () => 'готово')], { release: 'r42' })
  const first = await world.cli('pause', '--agent', 'test', '--reason', 'CRM недоступна', '--by', 'анна')
  const release = await world.cli('pause', '--release', 'r42', '--json')
  const misspelt = await world.cli('pause', '--agent', 'tset')
  const { id } = await world.foothold.submit('test', 1)

  const [listed, workers, tasks, why, doctor] = await Promise.all(
    [['pauses'], ['workers'], ['tasks', 'list'], ['why', id], ['doctor']].map((argv) => world.cli(...argv)),
  )
  const again = await Promise.all(['test', 'tset'].map((name) => world.cli('unpause', '--agent', name)))
  const ended = await world.cli('resume-agent', '--release', 'r42')
  const nothing = await world.cli('unpause', '--release', 'r42')

  const text = /agent test has been paused for \d+ m?s: CRM недоступна \(анна\)/
  for (const answer of [first, listed, why, doctor]) expect(answer?.stdout).toMatch(text)
  expect(workers?.stderr).toMatch(text)
  expect(workers?.stdout).toContain('active (paused)')
  expect(tasks?.stdout).toContain('pending (agent paused)')
  expect(why?.stdout).toContain('foothold unpause --agent test')
  expect(release.json()).toMatchObject({ kind: 'release', value: 'r42', isKnown: true })
  expect(misspelt.stderr).toContain('Did you mean "test"? Then: foothold unpause --agent tset')
  expect(again.map(({ stdout }) => stdout)).toEqual(['agent test goes on.\n', 'agent tset goes on.\n'])
  expect([ended.code, nothing.code]).toEqual([0, 1])
  await world.foothold.handle(id).result({ timeoutMs: 10_000 })
})

test('what is limited, what runs of it and what waits for room is shown wherever a person looks', async () => {
  const world = await cliWorld()
  const inside = gate()
  const open = gate()
  const held = agentOf(async () => {
    inside.open()
    await open.opened
  })
  const set = await world.cli(
    'limits',
    'set',
    '--key',
    'модель',
    '--concurrency',
    '1',
    '--rate',
    '60/minute',
    '--by',
    'анна',
  )
  const each = await world.cli('limits', 'set', '--tenant', '*', '--concurrency', '20', '--json')
  const first = await world.foothold.submit(held, 1, { limitKey: 'модель' })
  await world.worker([held])
  await inside.opened
  const second = await world.foothold.submit(held, 2, { limitKey: 'модель' })
  await until('it waits for room', async () => (await world.foothold.task(second.id))?.waitingFor === 'limit')

  const [listed, tasks, why, doctor] = await Promise.all(
    [['limits', 'list'], ['tasks', 'list'], ['why', second.id], ['doctor']].map((argv) => world.cli(...argv)),
  )
  const wrong = await Promise.all(
    [
      ['--key', 'a'],
      ['--concurrency', '1'],
      ['--key', 'a', '--rate', '5'],
      ['--key', '*', '--rate', '5/second'],
    ].map((argv) => world.cli('limits', 'set', ...argv)),
  )
  const [removed, again] = [
    await world.cli('limits', 'remove', '--key', 'модель'),
    await world.cli('limits', 'remove', '--key', 'модель'),
  ]

  const text = 'key модель: at most 1 at once and 60 starts in 1 min; 1 runs, 1 waits for room (анна)'
  for (const answer of [listed, doctor]) expect(answer?.stdout).toContain(text)
  expect(listed?.stdout).toContain('each tenant without a limit of its own: at most 20 at once')
  expect(set.stdout).toBe('key модель is limited.\n')
  expect(each.json()).toEqual({ kind: 'tenant', value: '*', concurrency: 20, rate: null })
  expect(tasks?.stdout).toContain('waiting (limit)')
  expect(why?.stdout).toContain('the limit of key модель is full: it starts when there is room')
  expect(why?.stdout).toContain('foothold limits list')
  expect(wrong.map(({ code }) => code)).toEqual([2, 2, 2, 1])
  expect([removed.code, again.code]).toEqual([0, 1])
  open.open()
  await Promise.all([first, second].map((handle) => handle.result({ timeoutMs: 10_000 })))
})
