// Terminates the connection of the given application name as soon as it exists, and waits until it is gone. Started by
// ended-while-connecting.test.ts, whose event loop is blocked meanwhile.

import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'

const [url, name] = process.argv.slice(2)
const client = new Client(url)
await client.connect()
// Idle: the server has accepted the connection, and the blocked client has read nothing of it.
const found = "FROM pg_stat_activity WHERE application_name = $1 AND state = 'idle'"
while ((await client.query(`SELECT pg_terminate_backend(pid) ${found}`, [name])).rowCount === 0) await sleep(5)
while ((await client.query(`SELECT 1 ${found}`, [name])).rowCount !== 0) await sleep(5)
await client.end()
