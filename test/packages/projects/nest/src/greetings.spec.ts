import { Test, type TestingModule } from '@nestjs/testing'
import { AppModule } from './app.module'
import { GreetingsService } from './greetings.service'

describe('GreetingsService', () => {
  let app: TestingModule

  beforeEach(async () => {
    app = await Test.createTestingModule({ imports: [AppModule] }).compile()
    await app.init()
  })
  afterEach(() => app.close())

  it('submits a task that the worker of the same application runs', async () => {
    expect(await app.get(GreetingsService).greet('мир')).toBe('Привет, мир!')
  })
})
