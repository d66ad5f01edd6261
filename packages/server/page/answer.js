import { element } from './elements.js'

/** What steps say while they work, by step and channel. A later try of a step begins its text anew. */
export function answerView(container) {
  const steps = new Map()

  function paneOf(key) {
    const known = steps.get(key)
    if (known !== undefined) return known
    const note = element('span', { class: 'quiet' })
    const channels = new Map()
    const node = element('article', { class: 'answer' }, element('h3', {}, key, ' ', note))
    container.append(node)
    const pane = { node, note, channels, tries: 1 }
    steps.set(key, pane)
    return pane
  }

  return {
    add({ key, channel, text }) {
      const pane = paneOf(key)
      let place = pane.channels.get(channel)
      if (place === undefined) {
        place = document.createTextNode('')
        pane.channels.set(channel, place)
        pane.node.append(element('p', { class: 'text', 'data-channel': channel }, place))
      }
      place.appendData(text)
    },
    supersede(key) {
      const pane = paneOf(key)
      pane.tries += 1
      pane.note.textContent = `written again, try ${pane.tries}`
      for (const place of pane.channels.values()) place.parentElement.remove()
      pane.channels.clear()
    },
  }
}
