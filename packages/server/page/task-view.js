import { answerView } from './answer.js'
import { getJson, post, watchTask } from './api.js'
import { badge, duration, element, payload, time, words } from './elements.js'

const ENDED = new Set(['completed', 'cancelled', 'dead_letter'])

/** One task: its facts, its steps as they happen, its answer as it is written. Returns a function that closes it. */
export function showTask(container, id) {
  const closing = new AbortController()
  const { signal } = closing
  const running = new Map()
  const alert = element('p', { class: 'error', role: 'alert' })
  const facts = element('div')
  const actions = element('p', { class: 'actions' })
  const result = element('div')
  const steps = element('div')
  const answers = element('div', { 'aria-live': 'polite' })
  const attempts = element('div')
  const input = element('div')
  container.replaceChildren(alert, facts, actions, result, steps, answers, attempts, input)
  const answer = answerView(answers)
  let detail = null
  let isLoading = false
  let isStale = false

  /** Events say that something changed; the detail says all of it. However many come, one request at a time. */
  async function load() {
    isStale = true
    if (isLoading) return
    isLoading = true
    try {
      while (isStale && !signal.aborted) {
        isStale = false
        detail = await getJson(`v1/tasks/${id}`, signal)
        render()
        alert.textContent = ''
      }
    } catch (error) {
      if (!signal.aborted) onFailure(error)
    } finally {
      isLoading = false
    }
  }

  function onFailure(error) {
    alert.textContent = error.status === undefined ? 'No connection, trying again…' : error.message
  }

  function onEvent(name, event) {
    if (name === 'chunk') return answer.add(event)
    if (name === 'superseded') return answer.supersede(event.key)
    if (name === 'step') {
      if (event.status === 'running') running.set(event.key, event)
      else running.delete(event.key)
      if (detail !== null) renderSteps()
    }
    void load()
  }

  function render() {
    const { status } = detail
    if (status !== 'processing') running.clear()
    facts.replaceChildren(
      element('h2', {}, `${detail.agent} `, badge(status)),
      element('p', { class: 'id' }, detail.id),
      definitions([
        ['Version', detail.version],
        ['Priority', detail.priority],
        ['Tenant', detail.tenant],
        ['Attempt', detail.attempt],
        ['Worker', detail.workerId],
        ['Reason', detail.lastReason === null ? null : words(detail.lastReason)],
        ['Waits for', detail.waitingFor === null ? null : words(detail.waitingFor)],
        ['Wakes', detail.wakeAt === null ? null : time(detail.wakeAt)],
        ['Budgets', `errors ${detail.errorCount}, crashes ${detail.crashCount}, deploys ${detail.handoverCount}`],
        ['Created', time(detail.createdAt)],
        ['Took', duration(detail.startedAt, detail.finishedAt)],
      ]),
    )
    renderActions()
    result.replaceChildren(
      ...(detail.error === null
        ? []
        : [section('Error', element('p', { class: 'error' }, `${detail.error.code}: ${detail.error.message}`))]),
      ...(status === 'completed' ? [section('Result', payload(detail.output ?? null))] : []),
    )
    renderSteps()
    attempts.replaceChildren(section('Attempts', attemptTable(detail.attempts)))
    input.replaceChildren(section('Input', details('What was asked', payload(detail.input ?? null), 'input')))
  }

  function renderActions() {
    const buttons = []
    if (detail.status === 'dead_letter') buttons.push(action('Resume from the failed step', 'resume'))
    if (!ENDED.has(detail.status) || detail.status === 'dead_letter') {
      const isAsked = detail.cancelRequestedAt !== null
      buttons.push(action(isAsked ? 'Cancel requested' : 'Cancel the task', 'cancel', isAsked))
    }
    // Only when they differ, so that a focused button keeps its focus.
    if (actions.textContent !== buttons.map((button) => button.textContent).join(''))
      actions.replaceChildren(...buttons)
  }

  function action(label, verb, disabled = false) {
    const button = element('button', { class: verb, disabled, onclick: run }, label)
    async function run() {
      button.disabled = true
      try {
        await post(`v1/tasks/${id}/${verb}`)
        if (verb === 'resume') void follow()
        await load()
      } catch (error) {
        onFailure(error)
        button.disabled = false
      }
    }
    return button
  }

  function renderSteps() {
    const rows = detail.steps.map((step) => stepRow(step, running.has(step.key)))
    const known = new Set(detail.steps.map((step) => step.key))
    for (const event of running.values()) if (!known.has(event.key)) rows.push(runningRow(event))
    const openKeys = new Set([...steps.querySelectorAll('details[open]')].map((node) => node.dataset.key))
    steps.replaceChildren(
      section(
        'Steps',
        rows.length === 0 ? element('p', { class: 'quiet' }, 'None yet.') : element('ol', { class: 'steps' }, ...rows),
      ),
    )
    for (const node of steps.querySelectorAll('details')) node.open = openKeys.has(node.dataset.key)
  }

  async function follow() {
    try {
      await watchTask(id, { signal, onEvent, onCut: () => void load() })
    } catch (error) {
      onFailure(error)
    }
  }

  void load()
  void follow()
  return () => closing.abort()
}

function stepRow(step, isRunning) {
  const facts = [
    step.kind,
    duration(step.startedAt, step.finishedAt),
    step.tries > 1 ? `${step.tries} tries` : null,
    `attempt ${step.attempt}`,
    step.usage === null ? null : `${step.usage.inputTokens} + ${step.usage.outputTokens} tokens of ${step.usage.model}`,
  ].filter((fact) => fact !== null)
  return element(
    'li',
    {},
    element('span', { class: 'line' }, element('strong', {}, step.key), badge(isRunning ? 'running' : step.status)),
    element('span', { class: 'quiet' }, facts.join(' · ')),
    step.error === null ? null : element('p', { class: 'error' }, `${step.error.code}: ${step.error.message}`),
    step.output === undefined || step.output === null ? null : details('Output', payload(step.output), step.key),
  )
}

function runningRow({ key, tries }) {
  return element(
    'li',
    {},
    element('span', { class: 'line' }, element('strong', {}, key), badge('running')),
    element('span', { class: 'quiet' }, `try ${tries}`),
  )
}

function attemptTable(attempts) {
  if (attempts.length === 0) return element('p', { class: 'quiet' }, 'None has ended yet.')
  const head = ['#', 'Outcome', 'Reason', 'Took', 'Worker'].map((title) => element('th', { scope: 'col' }, title))
  const rows = attempts.map((attempt) =>
    element(
      'tr',
      {},
      element('td', {}, String(attempt.attempt)),
      element('td', {}, badge(attempt.outcome)),
      element(
        'td',
        {},
        [attempt.reason === null ? '' : words(attempt.reason), attempt.detail ?? ''].filter(Boolean).join(': '),
      ),
      element('td', {}, duration(attempt.startedAt, attempt.endedAt)),
      element('td', { class: 'id' }, attempt.workerId),
    ),
  )
  return element('table', {}, element('thead', {}, element('tr', {}, ...head)), element('tbody', {}, ...rows))
}

function definitions(pairs) {
  const shown = pairs.filter(([, value]) => value !== null && value !== '')
  return element(
    'dl',
    {},
    ...shown.map(([name, value]) =>
      element('div', {}, element('dt', {}, name), element('dd', {}, value instanceof Node ? value : String(value))),
    ),
  )
}

function section(title, ...children) {
  return element('section', {}, element('h3', {}, title), ...children)
}

function details(title, content, key = title) {
  return element('details', { 'data-key': key }, element('summary', {}, title), content)
}
