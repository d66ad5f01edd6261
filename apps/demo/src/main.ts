import { runDemo } from './demo.ts'

process.exitCode = await runDemo({
  argv: process.argv.slice(2),
  env: process.env,
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
})
