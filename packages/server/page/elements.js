/** Builds elements. Text only ever becomes a text node: what a task, a model or a mail says is never markup. */
export function element(tag, properties = {}, ...children) {
  const node = document.createElement(tag)
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value)
    else if (name === 'class') node.className = value
    else node.setAttribute(name, value === true ? '' : String(value))
  }
  node.append(...children.filter((child) => child !== null && child !== undefined))
  return node
}

const WORDS = { dead_letter: 'dead letter', handed_over: 'handed over' }

export function words(code) {
  return WORDS[code] ?? String(code).replaceAll('_', ' ')
}

/** The word says it, the colour only helps. */
export function badge(status) {
  return element('span', { class: `badge ${status}` }, words(status))
}

export function time(iso) {
  if (iso === null) return ''
  const date = new Date(iso)
  return element('time', { datetime: iso, title: date.toLocaleString() }, date.toLocaleTimeString())
}

export function duration(fromIso, toIso) {
  if (fromIso === null) return ''
  const ms = (toIso === null ? Date.now() : Date.parse(toIso)) - Date.parse(fromIso)
  if (ms < 1_000) return `${Math.max(0, ms)} ms`
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`
  const minutes = Math.floor(ms / 60_000)
  return minutes < 60
    ? `${minutes} min ${Math.floor((ms % 60_000) / 1_000)} s`
    : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

/** A payload for people: text as it is, the rest as indented JSON. */
export function payload(value) {
  return element('pre', { tabindex: 0 }, typeof value === 'string' ? value : JSON.stringify(value, null, 2))
}
