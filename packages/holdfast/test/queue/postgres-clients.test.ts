// The Queue by the other ways to Postgres: postgres.js, and PgBouncer in transaction mode. What is about connections, bytes,
// names and races; HOLDFAST_TEST_ALL=1 runs everything.

import { after } from 'node:test'
import { findPgbouncer } from '../../../../servers/find.ts'
import { stopPostgres } from '../postgres-subject.ts'
import { byteTests } from './bytes.ts'
import { cancelTests } from './cancel.ts'
import { connectionTests } from './connections.ts'
import { hostileIdTests } from './hostile-ids.ts'
import { lifecycleTests } from './lifecycle.ts'
import { postgresDriver } from './postgres-driver.ts'
import { sharingTests } from './sharing.ts'
import { queueTests } from './suites.ts'
import { waitTests } from './wait.ts'

after(stopPostgres)

const ways = [postgresDriver('postgres-js', 'postgresjs')]
if (findPgbouncer()) ways.push(postgresDriver('pgbouncer', 'pgbouncer'))

for (const way of ways) {
  if (process.env.HOLDFAST_TEST_ALL === '1') queueTests(way)
  else {
    for (const tests of [
      byteTests,
      cancelTests,
      connectionTests,
      hostileIdTests,
      lifecycleTests,
      sharingTests,
      waitTests,
    ])
      tests(way)
  }
}
