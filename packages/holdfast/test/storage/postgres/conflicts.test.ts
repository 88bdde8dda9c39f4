// Calls that conflict with other transactions: how often they are attempted, and the error in the end.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../../src/clock.ts'
import type { Database } from '../../../src/storage/postgres/connection/database.ts'
import { migrate } from '../../../src/storage/postgres/migrations.ts'
import { conflict } from '../../../src/storage/postgres/rules/loaded-rows.ts'
import { RuleRunner } from '../../../src/storage/postgres/rules/rule-runner.ts'
import { TypeRegistry } from '../../../src/storage/postgres/rules/type-registry.ts'
import { makeSql } from '../../../src/storage/postgres/sql/statement.ts'
import { makeStatements } from '../../../src/storage/postgres/sql/statements.ts'
import { newListeners } from '../../../src/storage/rules/signals.ts'
import { database, server } from './fixtures.ts'

function runnerOn(db: Database): RuleRunner {
  const statements = makeStatements(makeSql('conflicts'))
  const types = new TypeRegistry(statements, newListeners, () => 0)
  const options = { database: db, statements, types, clock: systemClock, channel: 'conflicts', instance: 'one' }
  return new RuleRunner({ ...options, eventChannel: 'conflicts:events', onMoved: () => {} })
}

test('a call that conflicts starts over; after 20 attempts it rejects, and says that it was not applied', async (t) => {
  const { url } = await server(t)
  const db = await database(t, 'pg', { url })
  await migrate(db, 'conflicts', true)
  const runner = runnerOn(db)

  let attempts = 0
  const rules = (): string => {
    if (++attempts < 20) throw conflict
    return 'done'
  }
  assert.equal(await runner.run({ rules }), 'done')
  assert.equal(attempts, 20)

  attempts = -1_000
  await assert.rejects(runner.run({ rules }), {
    code: 'STORAGE_ERROR',
    transient: true,
    maybeApplied: false,
    message:
      'Postgres: serialization failure after 20 attempts. Other transactions kept changing the same jobs; the call was not applied.',
  })
  assert.equal(attempts, -980)
})
