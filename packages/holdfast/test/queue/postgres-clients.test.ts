// The Queue by the other ways to Postgres: postgres.js, and PgBouncer in transaction mode.

import { after } from 'node:test'
import { findPgbouncer } from '../../../../servers/find.ts'
import { stopPostgres } from '../postgres-subject.ts'
import { postgresDriver } from './postgres-driver.ts'
import { otherWayTests, poolerTests } from './suites.ts'

after(stopPostgres)

otherWayTests(postgresDriver('postgres-js', 'postgresjs'))
if (findPgbouncer()) poolerTests(postgresDriver('pgbouncer', 'pgbouncer'))
