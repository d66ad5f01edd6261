import { NestFactory } from '@nestjs/core'
import { AppModule } from './app.module'

async function bootstrap() {
  const app = await NestFactory.create(AppModule, { logger: false })
  app.enableShutdownHooks()
  await app.listen(0, '127.0.0.1')
  console.log(`listening on ${await app.getUrl()}`)
}
void bootstrap()
