import { Injectable } from '@nestjs/common'
import { FootholdService } from './foothold.service'
import { greet } from './greet.agent'

@Injectable()
export class GreetingsService {
  constructor(private readonly foothold: FootholdService) {}

  async greet(name: string): Promise<string> {
    const handle = await this.foothold.client.submit(greet, { name })
    return handle.result({ timeoutMs: 20_000 })
  }
}
