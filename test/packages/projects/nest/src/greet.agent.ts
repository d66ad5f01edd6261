import { agent, type StandardSchema } from 'foothold'

export interface Greeting {
  readonly name: string
}

/** Any Standard Schema; a Nest project with zod or valibot writes theirs. */
const greeting: StandardSchema<Greeting> = {
  '~standard': {
    version: 1,
    vendor: 'nest-project',
    validate: (value) =>
      typeof (value as Greeting | null)?.name === 'string'
        ? { value: value as Greeting }
        : { issues: [{ message: 'a name is missing', path: ['name'] }] },
  },
}

export const greet = agent({
  name: 'greet',
  input: greeting,
  run: (task, { name }) => task.step('greet', () => `Привет, ${name}!`),
})
