import { FootholdError } from '../../protocol/errors.ts'
import { cut } from '../../protocol/explain/cut.ts'
import { duration, fromNow } from '../../protocol/explain/durations.ts'
import type { AttemptView, StepView, TaskDetail } from '../../protocol/views.ts'
import type { Command } from '../command.ts'
import type { Output } from '../output.ts'
import { plainLine } from '../plain-text.ts'
import { statusText } from '../status-text.ts'
import { storedJson, storedText } from '../stored-json.ts'
import { fieldLines, tableLines } from '../table.ts'
import { taskIdOf } from '../task-id.ts'

/** --json and --full show all of it. */
const VALUE_CHARACTERS_MAX = 200
const CELL_CHARACTERS_MAX = 60

export const tasksShow: Command = {
  name: 'tasks show',
  summary: 'Show a task with its steps and attempts',
  arguments: [{ name: 'id', about: 'the task' }],
  options: { full: { about: 'whole values instead of their beginning' } },
  async run({ arguments: [text = ''], flags, command }, { out, isJson, connect }) {
    const id = taskIdOf(text, command)
    const { foothold, now } = await connect()
    const task = await foothold.task(id)
    if (task === null) throw new FootholdError('TASK_NOT_FOUND', { taskId: id })
    if (isJson) out.document(jsonOf(task))
    else show(task, now, out, flags.has('full'))
    return 0
  },
}

/** Absent values of the database are null in the document. */
function jsonOf(task: TaskDetail): unknown {
  return {
    ...task,
    input: storedJson(task.input),
    output: storedJson(task.output),
    steps: task.steps.map((step) => ({ ...step, output: storedJson(step.output) })),
  }
}

function show(task: TaskDetail, now: Date, out: Output, isFull: boolean): void {
  const value = (text: string): string => plainLine(isFull ? text : cut(text, VALUE_CHARACTERS_MAX))
  const cell = (text: string): string => plainLine(isFull ? text : cut(text, CELL_CHARACTERS_MAX))
  for (const line of fieldLines(fieldsOf(task, now, value))) out.line(line)
  table(
    out,
    'Steps',
    STEP_NAMES,
    task.steps.map((step) => stepCells(step, cell)),
  )
  table(
    out,
    'Attempts',
    ATTEMPT_NAMES,
    task.attempts.map((attempt) => attemptCells(attempt, cell)),
  )
}

function fieldsOf(task: TaskDetail, now: Date, value: (text: string) => string): [string, string][] {
  const at = (name: string, time: Date | null): [string, string][] =>
    time === null ? [] : [[name, `${time.toISOString()}  ${fromNow(time, now)}`]]
  return [
    ['task', task.id],
    ['agent', `${task.agent}@${task.version}`],
    ['status', statusText(task)],
    ...(task.tenant === null ? [] : [['tenant', plainLine(task.tenant)] as [string, string]]),
    ['priority', task.priority],
    ['attempt', task.workerId === null ? String(task.attempt) : `${task.attempt} by ${plainLine(task.workerId)}`],
    ['counted', `errors ${task.errorCount}, crashes ${task.crashCount}, deploys ${task.handoverCount}`],
    ...at('created', task.createdAt),
    ...at('started', task.startedAt),
    ...at('wakes', task.wakeAt),
    ...at('deadline', task.status === 'completed' ? null : task.deadlineAt),
    ...at('cancel asked', task.cancelRequestedAt),
    ...at('ended', task.finishedAt),
    ...(task.parentId === null ? [] : [['parent', parentText(task)] as [string, string]]),
    ['input', value(storedText(task.input))],
    ...(task.status === 'completed' ? [['output', value(storedText(task.output))] as [string, string]] : []),
    ...(task.error === null ? [] : [['error', value(`${task.error.code}: ${task.error.message}`)] as [string, string]]),
  ]
}

function parentText({ parentId, parentKey }: TaskDetail): string {
  return parentKey === null ? `${parentId} (its dead letter)` : `${parentId}, step ${plainLine(parentKey)}`
}

const STEP_NAMES = ['STEP', 'KIND', 'STATUS', 'TRIES', 'ATTEMPT', 'TOOK', 'RESULT']

function stepCells(step: StepView, cell: (text: string) => string): string[] {
  const child = step.child === null ? '' : `child ${step.child.id} ${step.child.status}`
  const open = step.error?.message ?? (step.question === null ? child : step.question.title)
  const result = step.status === 'completed' ? [storedText(step.output), child].filter(Boolean).join('  ') : open
  const took = step.finishedAt === null ? '' : duration(step.finishedAt.getTime() - step.startedAt.getTime())
  return [plainLine(step.key), step.kind, step.status, String(step.tries), String(step.attempt), took, cell(result)]
}

const ATTEMPT_NAMES = ['ATTEMPT', 'OUTCOME', 'REASON', 'TOOK', 'WORKER', 'DETAIL']

function attemptCells(attempt: AttemptView, cell: (text: string) => string): string[] {
  return [
    String(attempt.attempt),
    attempt.outcome,
    plainLine(attempt.reason ?? ''),
    duration(attempt.endedAt.getTime() - attempt.startedAt.getTime()),
    plainLine(attempt.workerId),
    cell(attempt.detail ?? ''),
  ]
}

function table(out: Output, title: string, names: readonly string[], rows: readonly (readonly string[])[]): void {
  if (rows.length === 0) return
  const [head = '', ...lines] = tableLines(names, rows)
  out.line('')
  out.line(out.paint('bold', title))
  for (const line of [out.paint('dim', head), ...lines]) out.line(line)
}
