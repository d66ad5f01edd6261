import type { Language } from '../agent/request.ts'
import type { News } from '../play/round.ts'

/** Everything the screen says, in both languages. */
export interface Words {
  readonly title: string
  readonly guardOn: string
  readonly guardOff: string
  readonly seed: string
  readonly lease: (seconds: string) => string
  readonly answerTo: string
  readonly attempt: (number: number) => string
  readonly writerGone: string
  readonly writerFrozen: (name: string) => string
  readonly waiting: string
  readonly starting: string
  readonly delivered: string
  readonly steps: Readonly<
    Record<'waiting' | 'running' | 'stored' | 'in_memory' | 'cut_off' | 'forgotten' | 'again', string>
  >
  readonly billTitle: string
  readonly withGuard: string
  readonly without: string
  readonly bill: Readonly<
    Record<
      | 'accepted'
      | 'answered'
      | 'open'
      | 'lost'
      | 'records'
      | 'doubled'
      | 'replies'
      | 'paid'
      | 'wasted'
      | 'handedOver'
      | 'orphaned'
      | 'slowest',
      string
    >
  >
  readonly workers: string
  readonly states: Readonly<Record<'starting' | 'working' | 'draining' | 'frozen' | 'gone', string>>
  readonly inHand: (count: number) => string
  readonly log: string
  readonly keys: Readonly<Record<'k' | 'd' | 'f' | 'gOff' | 'gOn' | 'l' | 'q', string>>
  readonly busy: string
  readonly firstAct: string
  readonly replaying: string
  readonly finishing: string
  readonly compared: string
  readonly tooSmall: string
  readonly noTerminal: string
  readonly news: (news: News) => string
  readonly table: Readonly<
    Record<
      | 'accepted'
      | 'completed'
      | 'lost'
      | 'recordsDoubled'
      | 'repliesDoubled'
      | 'handedOver'
      | 'orphaned'
      | 'recovery'
      | 'modelCallsRepeated'
      | 'tokens'
      | 'done',
      string
    >
  >
  readonly done: (kills: number, deploys: number, freezes: number, freezeSeconds: string) => string
  readonly tokens: (paid: string, wasted: string) => string
  readonly verdicts: Readonly<Record<'green' | 'red' | 'too_little', string>>
  readonly playTitle: (guard: string, seed: number, lease: string, took: string) => string
}

const seconds = (ms: number): string => (ms / 1_000).toFixed(1)

/** The first by name, the rest by number. */
function listed(requests: readonly string[]): string {
  const [first = '', second] = requests
  if (second === undefined) return first
  return requests.length === 2 ? `${first}, ${second}` : `${first}, ${second} +${requests.length - 2}`
}

const EN: Words = {
  title: 'the viewer does the killing',
  guardOn: 'guard ON',
  guardOff: 'guard OFF',
  seed: 'seed',
  lease: (s) => `lease ${s} s (default 20 s)`,
  answerTo: 'answer to',
  attempt: (number) => `attempt ${number}`,
  writerGone: 'its worker is dead: another goes on when the lease ends',
  writerFrozen: (name) => `${name} is frozen: another goes on when the lease ends`,
  waiting: 'waiting for a request …',
  starting: 'starting PostgreSQL, the services and two workers …',
  delivered: 'delivered',
  steps: {
    waiting: '○ waiting',
    running: '▶ running',
    stored: '✔ stored',
    in_memory: '✔ in memory',
    cut_off: '✖ cut off',
    forgotten: '✖ forgotten',
    again: '↻ runs again',
  },
  billTitle: 'the bill',
  withGuard: 'guard',
  without: 'without',
  bill: {
    accepted: 'accepted',
    answered: 'answered',
    open: 'in work',
    lost: 'lost',
    records: 'CRM records',
    doubled: '  doubled',
    replies: 'replies',
    paid: 'tokens paid',
    wasted: '  wasted',
    handedOver: 'handed over',
    orphaned: 'orphaned',
    slowest: 'slowest, s',
  },
  workers: 'workers',
  states: { starting: 'starting', working: 'working', draining: 'leaving', frozen: 'FROZEN', gone: 'dead' },
  inHand: (count) => `${count} in hand`,
  log: 'what happens',
  keys: { k: 'kill -9', d: 'deploy', f: 'freeze', gOff: 'guard off', gOn: 'guard on', l: 'русский', q: 'quit' },
  busy: 'one thing at a time: wait until both workers are back',
  firstAct: 'first do something with k, d or f: the same will then happen without the guard',
  replaying: 'the same seed without the guard: your keys are pressed again at the same moments',
  finishing: 'finishing what was accepted …',
  compared: 'same seed, same blows. g: once more with the guard, q: quit',
  noTerminal: 'The keys need a terminal. Without one: --play',
  tooSmall: 'make the window at least 80 × 24',
  news: (news) => {
    switch (news.kind) {
      case 'killed':
        return `kill -9 ${news.pid} (worker ${news.worker}), ${news.held} in hand`
      case 'restarted':
        return `worker ${news.worker} is back as ${news.pid}`
      case 'frozen':
        return `worker ${news.worker} (${news.pid}) frozen, ${news.held} in hand`
      case 'woken':
        return `worker ${news.worker} (${news.pid}) wakes and thinks nothing happened`
      case 'deploying':
        return `deploying ${news.release}: every worker in turn`
      case 'released':
        return `release ${news.release}: ${seconds(news.tookMs)} s, ${news.handedOver} handed over, ${news.lost} lost, ${news.doubled} doubled`
      case 'delivered':
        return `${news.request} answered${news.attempts > 1 ? `, attempt ${news.attempts}` : ''}`
      case 'taken_over':
        return `${news.pid} goes on with ${listed(news.requests)}`
      case 'set_aside':
        return `${news.request} cost three workers their life: a dead letter, and a person resumes it`
      case 'surprise':
        return `a worker ended by itself: ${news.how}`
    }
  },
  table: {
    accepted: 'accepted',
    completed: 'completed',
    lost: 'lost',
    recordsDoubled: 'CRM records doubled',
    repliesDoubled: 'replies doubled',
    handedOver: 'handed over',
    orphaned: 'orphaned',
    recovery: 'recovery p50 / p99',
    modelCallsRepeated: 'model calls repeated',
    tokens: 'tokens paid',
    done: 'done to the workers',
  },
  done: (kills, deploys, freezes, s) => `${kills} × kill -9, ${deploys} × deploy, ${freezes} × freeze of ${s} s`,
  tokens: (paid, wasted) => `${paid}, wasted ${wasted}`,
  verdicts: {
    green: 'GREEN: nothing lost, nothing doubled',
    red: 'RED: lost or doubled',
    too_little: 'NO VERDICT: less was done than the proof asks for',
  },
  playTitle: (guard, seed, lease, took) => `Foothold demo: ${guard}, seed ${seed}, lease ${lease} s, ${took} s`,
}

const RU: Words = {
  title: 'убивает зритель',
  guardOn: 'защита ВКЛ',
  guardOff: 'защита ВЫКЛ',
  seed: 'seed',
  lease: (s) => `аренда ${s} с (обычно 20 с)`,
  answerTo: 'ответ на',
  attempt: (number) => `попытка ${number}`,
  writerGone: 'воркер мёртв: другой продолжит, когда кончится аренда',
  writerFrozen: (name) => `${name} заморожен: другой продолжит, когда кончится аренда`,
  waiting: 'ждём обращения …',
  starting: 'запускаются PostgreSQL, сервисы и два воркера …',
  delivered: 'доставлен',
  steps: {
    waiting: '○ ждёт',
    running: '▶ идёт',
    stored: '✔ сохранён',
    in_memory: '✔ в памяти',
    cut_off: '✖ оборван',
    forgotten: '✖ забыт',
    again: '↻ ещё раз',
  },
  billTitle: 'счёт',
  withGuard: 'защита',
  without: 'без неё',
  bill: {
    accepted: 'принято',
    answered: 'отвечено',
    open: 'в работе',
    lost: 'потеряно',
    records: 'записи в CRM',
    doubled: '  лишние',
    replies: 'ответы',
    paid: 'токены',
    wasted: '  впустую',
    handedOver: 'передано',
    orphaned: 'осиротело',
    slowest: 'дольше всего, с',
  },
  workers: 'воркеры',
  states: { starting: 'запуск', working: 'работает', draining: 'уходит', frozen: 'ЗАМЁРЗ', gone: 'мёртв' },
  inHand: (count) => `в руках ${count}`,
  log: 'что происходит',
  keys: { k: 'kill -9', d: 'деплой', f: 'заморозка', gOff: 'без защиты', gOn: 'с защитой', l: 'english', q: 'выход' },
  busy: 'по одному: дождитесь, пока вернутся оба воркера',
  firstAct: 'сначала k, d или f: потом то же самое случится без защиты',
  replaying: 'тот же seed без защиты: ваши клавиши нажимаются в те же секунды',
  finishing: 'доделываем принятое …',
  compared: 'тот же seed, те же удары. g: снова с защитой, q: выход',
  noTerminal: 'Для клавиш нужен терминал. Без него: --play',
  tooSmall: 'нужно окно хотя бы 80 × 24',
  news: (news) => {
    switch (news.kind) {
      case 'killed':
        return `kill -9 ${news.pid} (воркер ${news.worker}), в руках ${news.held}`
      case 'restarted':
        return `воркер ${news.worker} снова здесь: ${news.pid}`
      case 'frozen':
        return `воркер ${news.worker} (${news.pid}) заморожен, в руках ${news.held}`
      case 'woken':
        return `воркер ${news.worker} (${news.pid}) очнулся и думает, что ничего не было`
      case 'deploying':
        return `деплой ${news.release}: воркеры по очереди`
      case 'released':
        return `релиз ${news.release}: ${seconds(news.tookMs)} с, передано ${news.handedOver}, потеряно ${news.lost}, дважды ${news.doubled}`
      case 'delivered':
        return `${news.request}: ответ доставлен${news.attempts > 1 ? `, попытка ${news.attempts}` : ''}`
      case 'taken_over':
        return `${news.pid} продолжает ${listed(news.requests)}`
      case 'set_aside':
        return `${news.request} стоило жизни трём воркерам: dead letter, человек возобновляет`
      case 'surprise':
        return `воркер закончился сам: ${news.how}`
    }
  },
  table: {
    accepted: 'принято',
    completed: 'завершено',
    lost: 'потеряно',
    recordsDoubled: 'записей CRM дважды',
    repliesDoubled: 'ответов дважды',
    handedOver: 'передано',
    orphaned: 'осиротело',
    recovery: 'восстановление p50 / p99',
    modelCallsRepeated: 'вызовов модели повторно',
    tokens: 'токенов оплачено',
    done: 'что делали с воркерами',
  },
  done: (kills, deploys, freezes, s) => `kill -9 × ${kills}, деплой × ${deploys}, заморозка × ${freezes} на ${s} с`,
  tokens: (paid, wasted) => `${paid}, впустую ${wasted}`,
  verdicts: {
    green: 'ЗЕЛЕНО: ничего не потеряно, ничего дважды',
    red: 'КРАСНО: потеряно или сделано дважды',
    too_little: 'НЕ СЧИТАЕТСЯ: сделано меньше, чем нужно для доказательства',
  },
  playTitle: (guard, seed, lease, took) => `Демо Foothold: ${guard}, seed ${seed}, аренда ${lease} с, ${took} с`,
}

export const WORDS: Readonly<Record<Language, Words>> = { en: EN, ru: RU }
