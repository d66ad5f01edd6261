import { FootholdError } from '../../protocol/errors.ts'
import type { Command } from '../command.ts'
import { openReached } from '../connection.ts'
import { type Check, type CheckLevel, worst } from '../doctor/check.ts'
import { examine } from '../doctor/examine.ts'
import { LOOK_BACK } from '../doctor/work-checks.ts'
import type { Output, Style } from '../output.ts'
import { plainLine } from '../plain-text.ts'

export const doctor: Command = {
  name: 'doctor',
  summary: 'Examine the server, the schema and what must hold of every task',
  details: `Each line is ok, warning or error; the exit code is 1 when there is an error. It reads only, and changes nothing.
It says in words what an acknowledgement is worth on this server, which is what every promise of this library rests on.`,
  arguments: [],
  options: { 'direct-url': { value: '<url>', about: "the workers' session-level address, to be examined too" } },
  async run({ values }, { out, isJson, url }) {
    if (url === undefined || url === '') throw new FootholdError('DATABASE_URL_MISSING', {})
    const db = await openReached(url)
    const checks: Check[] = []
    try {
      for await (const check of examine({ db, url, directUrl: values['direct-url'] })) {
        checks.push(check)
        if (!isJson) show(check, out)
      }
    } finally {
      await db.close()
    }
    const level = worst(checks)
    if (isJson) out.document({ level, checks })
    else out.note(LOOK_BACK)
    return level === 'error' ? 1 : 0
  },
}

const STYLES: Readonly<Record<CheckLevel, Style>> = { ok: 'green', warning: 'yellow', error: 'red' }
const LEVEL_WIDTH = 'warning'.length
const NAME_WIDTH = 'oldest snapshot'.length + 1

function show({ name, level, text, cure }: Check, out: Output): void {
  const head = `${out.paint(STYLES[level], level.padEnd(LEVEL_WIDTH))}  ${name.padEnd(NAME_WIDTH)}`
  out.line(`${head}  ${plainLine(text)}`)
  if (cure !== null) out.line(`${' '.repeat(LEVEL_WIDTH + NAME_WIDTH + 4)}${plainLine(cure)}`)
}
