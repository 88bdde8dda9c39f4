// The Queue on Postgres, by way of pg.

import { after } from 'node:test'
import { stopPostgres } from '../postgres-subject.ts'
import { postgresDriver } from './postgres-driver.ts'
import { queueTests } from './suites.ts'

after(stopPostgres)

queueTests(postgresDriver('postgres', 'pg'))
