import { Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common'
import { connect, type Foothold, type Worker } from 'foothold'
import { greet } from './greet.agent'

/** One connection and one worker for the application: started with it, drained with it. */
@Injectable()
export class FootholdService implements OnModuleInit, OnApplicationShutdown {
  client!: Foothold
  private worker!: Worker

  async onModuleInit(): Promise<void> {
    this.client = await connect(process.env.DATABASE_URL, { logger: 'silent' })
    this.worker = this.client.worker({ agents: [greet] })
    await this.worker.start()
  }

  async onApplicationShutdown(): Promise<void> {
    await this.worker.drain()
    await this.client.close()
  }
}
