/** The model's sentences in one language. Every figure in them comes in from outside. */
export interface Wording {
  readonly language: 'ru' | 'en'
  hello(name: string | null): string
  readonly howToHelp: string
  readonly youAreWelcome: string
  readonly sorry: string
  order(number: string, title: string | null, status: string | null): string
  total(amount: string, currency: string | null): string
  deliveryOn(date: string): string
  readonly noDeliveryDate: string
  orderMissing(number: string): string
  orderUnread(number: string): string
  filesRead(names: readonly string[]): string
  readonly noAnswer: string
  ticketDone(id: string | null): string
  readonly ticketUnknown: string
  readonly ticketFailed: string
  otherDone(name: string, fields: ReadonlyMap<string, string>): string
  otherUnread(name: string): string
}
