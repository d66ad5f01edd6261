import { Module } from '@nestjs/common'
import { FootholdService } from './foothold.service'
import { GreetingsController } from './greetings.controller'
import { GreetingsService } from './greetings.service'

@Module({
  controllers: [GreetingsController],
  providers: [FootholdService, GreetingsService],
})
export class AppModule {}
