import { connect } from 'foothold'
import { liveAgent } from './live-agent.ts'

const foothold = await connect(process.argv[2], { logger: 'silent' })
await foothold.worker({ agents: [liveAgent], concurrency: 50 }).run()
await foothold.close()
