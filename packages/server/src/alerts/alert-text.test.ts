import type { AlertMessage } from 'foothold'
import { expect, test } from 'vitest'
import { alertText, htmlText, plainText } from './alert-text.ts'
import { line, plain } from './line.ts'

const id = '01a23544-0000-7000-8000-000000000001' as AlertMessage['examples'][number]['id']

const outage: AlertMessage = {
  id: '17',
  status: 'open',
  agent: 'support',
  reason: 'crm_unavailable',
  since: new Date('2026-12-02T01:15:07Z'),
  lastAt: new Date('2026-12-02T01:19:40Z'),
  resolvedAt: null,
  tasks: { total: 400, standing: 400, underWay: 0, completed: 0, cancelled: 0 },
  examined: 400,
  errors: [{ step: 'retrieve', message: 'CRM did not answer (ECONNREFUSED)', tasks: 400 }],
  examples: [{ id, tenant: null }],
  release: {
    verdict: 'new',
    failed: [{ release: '2.0', tasks: 400, startedAt: new Date('2026-12-02T01:14:00Z') }],
    completedBefore: [{ release: '1.9', tasks: 312 }],
  },
  effects: [{ key: 'reply', done: 0, inDoubt: 0 }],
  followUps: { completed: 398, underWay: 2, deadLetters: 0, effects: [{ key: 'reply', done: 398 }] },
  repeats: [{ step: 'retrieve', kind: 'step', because: 'failed', tasks: 400 }],
  commands: [`npx foothold why ${id}`, `npx foothold tasks resume ${id}`, 'npx foothold dead-letters --agent support'],
}

test('an outage is told in English: what, why, since when, was it the release, who was answered, what to type', () => {
  expect(plainText(alertText(outage, 'en'))).toBe(`🔴 support · crm_unavailable
400 dead letters since 2026-12-02 01:15:07 UTC, the last one at 01:19:40.
Why: the CRM was unavailable.
• step retrieve: CRM did not answer (ECONNREFUSED) (400)
Release: probably. All failures are on 2.0 (400), first started 2026-12-02 01:14:00 UTC; completed before: 1.9 (312).
Effects done in 400: reply 0.
Follow-ups: 398 completed, 2 under way, 0 dead; done in them: reply 398.
Resume repeats retrieve (400); stored steps are not run again.
npx foothold why ${id}
npx foothold tasks resume ${id}
npx foothold dead-letters --agent support
#alert_17`)
})

test('the same in Russian', () => {
  const moved = { ...outage, tasks: { total: 401, standing: 1, underWay: 300, completed: 99, cancelled: 1 } }

  expect(plainText(alertText(moved, 'ru'))).toBe(`🔴 support · crm_unavailable
401 задача остановлена с 2026-12-02 01:15:07 UTC, последняя в 01:19:40.
Стоит 1 из 401; снова в работе 300, выполнено 99, отменено 1.
Почему: CRM была недоступна.
• шаг retrieve: CRM did not answer (ECONNREFUSED) (400)
Релиз: вероятно, да. Все сбои на 2.0 (400), впервые запущен 2026-12-02 01:14:00 UTC; до этого справлялись: 1.9 (312).
Внешние действия, сделано в 400: reply 0.
Замещающие задачи: выполнено 398, в работе 2, остановлено 0; сделано в них: reply 398.
Resume повторит retrieve (400); сохранённые шаги не повторяются.
npx foothold why ${id}
npx foothold tasks resume ${id}
npx foothold dead-letters --agent support
#alert_17`)
})

test('a resolved group is two lines', () => {
  const resolved: AlertMessage = {
    ...outage,
    status: 'resolved',
    resolvedAt: new Date('2026-12-03T00:00:01Z'),
    tasks: { total: 400, standing: 0, underWay: 0, completed: 398, cancelled: 2 },
  }

  expect(plainText(alertText(resolved, 'en'))).toBe(`✅ support · crm_unavailable: resolved
None of 400 is a dead letter any more, from 2026-12-02 01:15:07 UTC to 2026-12-03 00:00:01: 398 completed, 2 cancelled, 0 under way.
#alert_17`)
})

test('what comes from tasks neither marks up nor calls anybody, and addresses lose what may be secret', () => {
  const hostile = '</code><b>@boss</b> \u202E\u0007 https://anna:pass@crm.example/rest/1/s3cret/?token=x сломалось'
  const html = htmlText(alertText({ ...outage, errors: [{ step: '<i>', message: hostile, tasks: 1 }] }, 'ru'))

  expect(html).toContain('<code>&lt;i&gt;</code>')
  expect(html).toContain('<code>&lt;/code&gt;&lt;b&gt;@boss&lt;/b&gt;   https://crm.example/… сломалось</code>')
  expect(html).not.toMatch(/s3cret|pass|token=|[\u202E]/u)
  expect(html).not.toContain('\u0007')
})

test('a long quotation is cut between two characters', () => {
  const cut = plain(line`${'😀'.repeat(1_000)}`)

  expect(cut.length).toBeLessThanOrEqual(300)
  expect(cut).not.toMatch(/\p{Cs}/u)
  expect(cut.endsWith('…')).toBe(true)
})
