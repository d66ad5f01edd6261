import { FootholdError } from './protocol/errors.ts'
import type { ConnectOptions, Foothold } from './protocol/foothold.ts'

export async function connect(url: string | undefined, _options: ConnectOptions = {}): Promise<Foothold> {
  if (url === undefined || url === '') throw new FootholdError('DATABASE_URL_MISSING', {})
  throw new Error('under construction')
}
