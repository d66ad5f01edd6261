import { convert } from 'html-to-text'
import { decodeText } from './charset.ts'
import { atCodePoint, readable } from './readable-text.ts'
import type { Attachment } from './request.ts'

/** Over all files of a request: what a large model can still read beside the rest of the prompt. */
export const ATTACHMENT_CHARACTERS_MAX = 200_000
/** Without figures: the model reads it too, and takes any number beside a question for an order's. */
const CUT = 'cut: only the beginning is kept'
/** Parsing HTML blocks the event loop for about a second per million characters; more is cut before, and said. */
const HTML_CHARACTERS_MAX = 500_000

export interface AttachmentText {
  readonly name: string
  readonly text: string
  /** What a reader must know: not read, cut, in which charset. */
  readonly note: string | null
}

export function readAttachments(attachments: readonly Attachment[]): AttachmentText[] {
  let left = ATTACHMENT_CHARACTERS_MAX
  return attachments.map((attachment) => {
    const { text, note } = readOne(attachment)
    const kept = atCodePoint(text, left)
    left -= kept.length
    const cut = kept.length < text.length ? CUT : null
    return { name: readable(attachment.name), text: kept, note: notes(note, cut) }
  })
}

function readOne(attachment: Attachment): { text: string; note: string | null } {
  if (attachment.text !== undefined) return asText(attachment.text)
  const bytes = Buffer.from(attachment.base64 ?? '', 'base64')
  const binary = binaryKind(bytes)
  if (binary !== null) return { text: '', note: `not read: ${binary}; only text, CSV and HTML are read` }
  const declared = declaredCharset(attachment.contentType) ?? declaredCharset(bytes.toString('latin1', 0, 2_048))
  const { text, charset } = decodeText(bytes, declared)
  const read = asText(text)
  return charset === 'utf-8' ? read : { text: read.text, note: notes(read.note, `read as ${charset}`) }
}

function asText(raw: string): { text: string; note: string | null } {
  const text = raw.replace(/^\uFEFF/, '')
  if (!isHtml(text)) return { text: readable(text).trim(), note: text.trim() === '' ? 'empty file' : null }
  const html = atCodePoint(text, HTML_CHARACTERS_MAX)
  const plain = htmlToText(html)
  return {
    text: readable(plain).trim(),
    note: html.length < text.length ? CUT : null,
  }
}

/** By its beginning, not by its name: a price list called .txt may be a page and the other way round. */
function isHtml(text: string): boolean {
  const head = text.slice(0, 4_096)
  if (/^\s*(<\?xml[^>]*>\s*)?(<!--[\s\S]*?-->\s*)*<(!doctype\s+html|html|head|body)\b/i.test(head)) return true
  return /^\s*<(div|p|table|meta|span|ul|ol|h[1-6]|br)\b[^>]*>/i.test(head) && /<\/[a-z][a-z0-9]*\s*>/i.test(text)
}

function htmlToText(html: string): string {
  return convert(html, {
    wordwrap: false,
    // Deep nesting is how a mail stops a parser: what lies deeper than any real letter is left out.
    limits: { maxDepth: 200, maxChildNodes: 20_000, ellipsis: '…' },
    selectors: [
      { selector: 'img', format: 'skip' },
      { selector: 'a', options: { ignoreHref: true } },
      { selector: 'table', format: 'dataTable' },
    ],
  })
}

const MAGIC: readonly (readonly [string, string])[] = [
  ['25504446', 'a PDF'],
  ['504b0304', 'a ZIP archive or an Office document'],
  ['504b0506', 'a ZIP archive'],
  ['d0cf11e0', 'an old Office document'],
  ['89504e47', 'a PNG image'],
  ['ffd8ff', 'a JPEG image'],
  ['47494638', 'a GIF image'],
  ['52494646', 'a sound, film or image file'],
  ['1f8b', 'a gzip archive'],
  ['526172211a', 'a RAR archive'],
  ['377abcaf271c', 'a 7-Zip archive'],
  ['7f454c46', 'a program'],
  ['4d5a90', 'a program'],
]

function binaryKind(bytes: Buffer): string | null {
  const head = bytes.subarray(0, 8).toString('hex')
  const known = MAGIC.find(([magic]) => head.startsWith(magic))
  if (known !== undefined) return known[1]
  if (head.startsWith('fffe') || head.startsWith('feff')) return null
  const sample = bytes.subarray(0, 4_096)
  let controls = 0
  for (const byte of sample) if (byte < 0x09 || (byte > 0x0d && byte < 0x20 && byte !== 0x1b)) controls += 1
  // A stray U+0000 comes from a broken export and is still text.
  return controls * 10 > sample.length ? 'a binary file' : null
}

function declaredCharset(text: string | undefined): string | null {
  return /charset\s*=\s*["']?\s*([A-Za-z0-9._:-]+)/i.exec(text ?? '')?.[1] ?? null
}

function notes(...all: (string | null)[]): string | null {
  const said = all.filter((note) => note !== null)
  return said.length === 0 ? null : said.join('; ')
}
