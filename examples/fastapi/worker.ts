import { connect } from 'foothold'
import { orderAgent } from './order.ts'

/** As many of these as there is work for; each may be killed at any time. */

const foothold = await connect(process.env['DATABASE_URL'])
const order = orderAgent(process.env['SERVICE_URL'] ?? 'http://127.0.0.1:8000')
await foothold.worker({ agents: [order], heartbeatMs: Number(process.env['HEARTBEAT_MS'] ?? 5_000) }).run()
await foothold.close()
