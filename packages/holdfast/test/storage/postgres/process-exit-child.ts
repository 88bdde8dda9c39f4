// A process that uses a Postgres database in every way, loses all connections once, and closes the database.

import { systemClock } from '../../../src/clock.ts'
import { openDatabase } from '../../../src/storage/postgres/connection/database.ts'
import { eventually, killOthers, libraries, type LibraryName, statement } from './fixtures.ts'

const [library, url] = process.argv.slice(2) as [LibraryName, string]
const one = statement('SELECT $1::text AS c0')
const settings = { listen: true, prepare: true, callTimeoutMs: 10_000, poolSize: 3, clock: systemClock }

const db = await openDatabase({ ...settings, url }, libraries[library])
const gap = Promise.withResolvers<void>()
await db.listen('messages', () => {}, gap.resolve)
const use = (): Promise<unknown> =>
  Promise.all([
    ...Array.from({ length: 5 }, () => db.query(one, ['call'])),
    ...Array.from({ length: 5 }, () => db.transaction((tx) => tx.query(one, ['transaction']))),
    ...Array.from({ length: 5 }, () => db.reserved.query(one, ['reserved'])),
  ])
await use()
await db.query(statement(killOthers.replace('::int', '::text AS c0')), [])
await gap.promise
await eventually(use)
await db.close()
console.log('closed')
