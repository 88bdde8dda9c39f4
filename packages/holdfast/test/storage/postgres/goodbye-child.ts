// Ends the one connection of that name to the server, as soon as it is there, and waits until it is gone.
// Started by postgres-goodbye.test.ts, which stands still meanwhile.

import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'

const [url, name] = process.argv.slice(2)
const client = new Client(url)
await client.connect()
// Idle: it was told so, and reads nothing of it.
const found = "FROM pg_stat_activity WHERE application_name = $1 AND state = 'idle'"
while ((await client.query(`SELECT pg_terminate_backend(pid) ${found}`, [name])).rowCount === 0) await sleep(5)
while ((await client.query(`SELECT 1 ${found}`, [name])).rowCount !== 0) await sleep(5)
await client.end()
