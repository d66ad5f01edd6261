import type { TaskEvent } from '../../protocol/views.ts'
import type { Command } from '../command.ts'
import type { Output } from '../output.ts'
import { plainLine, plainLines } from '../plain-text.ts'
import { taskIdOf } from '../task-id.ts'

export const tasksWatch: Command = {
  name: 'tasks watch',
  summary: 'Follow a task to its end, with what it writes',
  details: `Ctrl-C ends the watching, not the task. The exit code is 0 when the task completed and 1 when it was cancelled or
became a dead letter. With --json each event is one line; a chunk's cursor, given to --after, goes on behind it.`,
  arguments: [{ name: 'id', about: 'the task' }],
  options: { after: { value: '<cursor>', about: 'only what was written after it' } },
  async run({ arguments: [text = ''], values, command }, { out, isJson, stop, connect }) {
    const id = taskIdOf(text, command)
    const { foothold } = await connect()
    const show = isJson ? (event: TaskEvent): void => out.record(event) : eventWriter(out)
    let status = ''
    for await (const event of foothold.handle(id).watch({ after: values['after'], signal: stop })) {
      if (event.type === 'status') status = event.status
      show(event)
    }
    return status === 'completed' ? 0 : 1
  },
}

/** Text comes in pieces; whatever is said about it begins a line of its own. */
function eventWriter(out: Output): (event: TaskEvent) => void {
  let writing: string | null = null
  const line = (text: string): void => {
    if (writing !== null) out.line('')
    writing = null
    out.line(text)
  }
  return (event) => {
    switch (event.type) {
      case 'status':
        return line(out.paint('bold', statusLine(event)))
      case 'step':
        return line(stepLine(event, out))
      case 'superseded':
        return line(out.paint('dim', `${plainLine(event.key)}: what was written is void, it is tried again`))
      case 'chunk': {
        const source = `${event.key} ${event.channel}`
        if (writing !== source) {
          line(out.paint('dim', `${plainLine(event.key)}, ${plainLine(event.channel)}:`))
          writing = source
        }
        return out.piece(plainLines(event.text))
      }
    }
  }
}

function statusLine(event: TaskEvent & { readonly type: 'status' }): string {
  const { status, reason, attempt, workerId } = event
  const why = reason === null ? '' : ` (${plainLine(reason)})`
  const where = workerId === null ? '' : `, attempt ${attempt} by ${plainLine(workerId)}`
  return `${status}${why}${where}`
}

function stepLine(event: TaskEvent & { readonly type: 'step' }, out: Output): string {
  const { key, status, tries, error } = event
  const times = tries > 1 ? `, try ${tries}` : ''
  const said = error === null || status === 'completed' ? '' : `: ${plainLine(error.message)}`
  const line = `${plainLine(key)}: ${status}${times}${said}`
  return status === 'failed' || status === 'unknown' ? out.paint('red', line) : line
}
