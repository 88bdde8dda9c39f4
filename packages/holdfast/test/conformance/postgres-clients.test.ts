// The other ways to reach Postgres: postgres.js, and PgBouncer in transaction mode. They differ in how a call is sent
// and how a hint returns. To run all cases: `npm run conformance -- --driver postgres-js`, or `pgbouncer`.

import { after } from 'node:test'
import { findPgbouncer } from '../../../../servers/find.ts'
import { drivers } from '../drivers.ts'
import { stopPostgres } from '../postgres-subject.ts'
import { testOtherWay } from './other-way.ts'

after(stopPostgres)

const noPgbouncer = !findPgbouncer() && 'pgbouncer is not on the PATH, and PGBOUNCER is not set'

await testOtherWay({ name: 'postgres-js', every: 30, turn: 0, create: () => drivers['postgres-js']!() })
await testOtherWay({
  name: 'pgbouncer',
  // Hints do not come through the pooler: pg receives them from the server.
  about: /^(transaction: |connect: (?!clear removes))/,
  every: 30,
  turn: 1,
  skip: noPgbouncer,
  create: () => drivers.pgbouncer!(),
})
