import { agent, connect } from 'foothold'

const anything = { '~standard': { version: 1, vendor: 'own', validate: (value) => ({ value }) } }
const greet = agent({
  name: 'greet',
  input: anything,
  run: (task, { name }) => task.step('greet', () => `Привет, ${name}!`),
})

const foothold = await connect(process.env.DATABASE_URL)
const worker = foothold.worker({ agents: [greet] })
await worker.start()
console.log('the worker runs')
process.once('SIGTERM', () => void worker.drain().then(() => foothold.close()))
