// A CommonJS program, and in it the ES modules of the same package: their agents and errors know each other.
const { agent, connect, isFootholdError } = require('foothold')

const anything = { '~standard': { version: 1, vendor: 'own', validate: (value) => ({ value }) } }

const greet = agent({
  name: 'greet',
  input: anything,
  run: (task, name) => task.step('greet', () => `Привет, ${name}!`),
})

async function main() {
  const modules = await import('foothold')
  const refuse = modules.agent({
    name: 'refuse',
    input: anything,
    run: (task) =>
      task.step('refuse', () => {
        throw new modules.TerminalError('не сегодня')
      }),
  })

  const foothold = await connect(process.env.DATABASE_URL, { logger: 'silent' })
  const worker = foothold.worker({ agents: [greet, refuse] })
  await worker.start()
  console.log(await (await foothold.submit(greet, 'мир')).result())
  const refused = await (await foothold.submit(refuse, null)).result().catch((error) => error)
  console.log(
    `${modules.isFootholdError(refused, 'TASK_DEAD_LETTER')} ${isFootholdError(refused)} ${refused.details.message}`,
  )
  await worker.drain()
  await foothold.close()
}

main()
