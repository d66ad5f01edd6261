import { badge, duration, element, words } from './elements.js'

/**
 * The list of tasks. Rows are kept by id and only changed where something changed, so that focus, selection and the
 * reader's place survive the poll.
 */
export function taskList(container) {
  const rows = new Map()
  const list = element('ol')
  const empty = element('p', { class: 'quiet' }, 'No tasks here yet.')
  container.append(list, empty)
  container.addEventListener('keydown', (event) => moveFocus(event, list))

  return {
    show(tasks, selectedId) {
      empty.hidden = tasks.length > 0
      const wanted = new Set(tasks.map((task) => task.id))
      for (const [id, row] of rows) {
        if (wanted.has(id)) continue
        row.item.remove()
        rows.delete(id)
      }
      tasks.forEach((task, index) => {
        const row = rows.get(task.id) ?? newRow(task.id)
        rows.set(task.id, row)
        fill(row, task)
        if (task.id === selectedId) row.link.setAttribute('aria-current', 'page')
        else row.link.removeAttribute('aria-current')
        if (list.children[index] !== row.item) list.insertBefore(row.item, list.children[index] ?? null)
      })
    },
  }
}

function newRow(id) {
  const link = element('a', { href: `#/tasks/${id}` })
  return { item: element('li', {}, link), link, shown: '' }
}

function fill(row, task) {
  const facts = [
    task.tenant,
    task.attempt > 1 ? `attempt ${task.attempt}` : null,
    task.pausedBy === null ? null : `${task.pausedBy} paused`,
    task.waitingFor === null || task.waitingFor === 'pause' ? null : `waits for ${words(task.waitingFor)}`,
    task.lastReason === null || task.lastReason === 'completed' ? null : words(task.lastReason),
    task.cancelRequestedAt !== null && task.status === 'processing' ? 'cancel requested' : null,
    task.startedAt === null && task.finishedAt === null ? `queued ${duration(task.createdAt, null)}` : null,
    duration(task.startedAt, task.finishedAt),
  ].filter((fact) => fact !== null && fact !== '')
  const shown = JSON.stringify([task.status, task.agent, facts])
  if (shown === row.shown) return
  row.shown = shown
  row.link.replaceChildren(
    element('span', { class: 'line' }, element('strong', {}, task.agent), badge(task.status)),
    element('span', { class: 'line quiet' }, facts.join(' · ')),
    element('span', { class: 'id quiet' }, task.id),
  )
}

/** Arrow keys, j and k walk the list; Tab leaves it. */
function moveFocus(event, list) {
  const step = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[event.key]
  if (step === undefined || event.ctrlKey || event.metaKey || event.altKey) return
  const links = [...list.querySelectorAll('a')]
  const next = links[links.indexOf(document.activeElement) + step]
  if (next === undefined) return
  event.preventDefault()
  next.focus()
}
