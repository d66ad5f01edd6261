import { getJson, onTokenNeeded, pause } from './api.js'
import { duration, element, words } from './elements.js'
import { taskList } from './task-list.js'
import { showTask } from './task-view.js'

const POLL_MS = 1_000
const STATUSES = ['pending', 'processing', 'waiting', 'completed', 'cancelled', 'dead_letter']

const byId = (id) => document.getElementById(id)
const filter = byId('filter')
const connection = byId('connection')
const list = taskList(byId('tasks'))
let closeTask = () => {}
let wakePoll = new AbortController()

filter.elements.status.append(
  element('option', { value: '' }, 'all'),
  ...STATUSES.map((status) => element('option', { value: status }, words(status))),
)
filter.addEventListener('submit', (event) => event.preventDefault())
filter.addEventListener('input', () => wakePoll.abort())
document.addEventListener('visibilitychange', () => wakePoll.abort())
window.addEventListener('hashchange', openFromAddress)
onTokenNeeded(askForToken)
openFromAddress()
void poll()

function selectedId() {
  return /^#\/tasks\/([0-9a-f-]{36})$/.exec(location.hash)?.[1] ?? null
}

function openFromAddress() {
  closeTask()
  const id = selectedId()
  const container = byId('task')
  if (id === null) {
    container.replaceChildren(element('p', { class: 'quiet' }, 'Choose a task to see its steps as they happen.'))
    closeTask = () => {}
  } else {
    closeTask = showTask(container, id)
  }
  wakePoll.abort()
}

async function poll() {
  while (true) {
    wakePoll = new AbortController()
    if (!document.hidden) await refresh()
    await pause(document.hidden ? 60_000 : POLL_MS, wakePoll.signal)
  }
}

async function refresh() {
  try {
    const query = new URLSearchParams([...new FormData(filter)].filter(([, value]) => value !== ''))
    const [tasks, workers, pauses] = await Promise.all(
      [`v1/tasks?${query}`, 'v1/workers', 'v1/pauses'].map((path) => getJson(path)),
    )
    list.show(tasks.items, selectedId())
    byId('workers').textContent = workerLine(workers.items)
    byId('pauses').replaceChildren(...pauses.items.map(pauseItem))
    connection.textContent = ''
  } catch (error) {
    connection.textContent = error.status === undefined ? 'No connection, trying again…' : error.message
  }
}

function workerLine(workers) {
  const active = workers.filter((worker) => worker.status === 'active')
  if (active.length === 0) return 'no worker is active'
  const running = active.reduce((sum, worker) => sum + worker.running, 0)
  const places = active.reduce((sum, worker) => sum + worker.concurrency, 0)
  return `${active.length} ${active.length === 1 ? 'worker' : 'workers'}, ${running} of ${places} places taken`
}

function pauseItem({ kind, value, since, reason, by }) {
  const why = [reason, by === null ? null : `(${by})`].filter((part) => part !== null).join(' ')
  return element('li', {}, `${kind} ${value} is paused for ${duration(since, null)}${why === '' ? '' : `: ${why}`}`)
}

function askForToken() {
  const dialog = byId('token')
  const form = dialog.querySelector('form')
  form.reset()
  dialog.showModal()
  return new Promise((resolve) => {
    // Without a token there is nothing to show, so Escape asks again.
    dialog.oncancel = (event) => event.preventDefault()
    form.onsubmit = (event) => {
      event.preventDefault()
      dialog.close()
      resolve(form.elements.token.value.trim())
    }
  })
}
