import { Controller, Post } from '@nestjs/common'
import { GreetingsService } from './greetings.service'

@Controller('greetings')
export class GreetingsController {
  constructor(private readonly greetings: GreetingsService) {}

  @Post()
  greet(): Promise<string> {
    return this.greetings.greet('мир')
  }
}
