// Payloads and results go to the server one behind the other, with the position of each: every job gets its own, whatever the others have.

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { PostgresStorage } from '../../../src/storage/postgres/index.ts'
import type { Bytes, NewJob, Outcome } from '../../../src/storage/storage.ts'
import { newSchema, postgresPlace, stopPostgres } from '../../postgres-subject.ts'

after(stopPostgres)

const kept = { completedMs: 60_000, failedMs: 60_000, cancelledMs: 60_000 }
const bytesOf = (length: number, first: number): Bytes => Uint8Array.from({ length }, (_, at) => (first + at) % 256)
const hexOf = (bytes: Bytes | undefined): string | undefined => bytes && Buffer.from(bytes).toString('hex')
/** A view that does not begin at the start of its buffer. */
const inside = bytesOf(40, 7).subarray(5, 9)
const batches: Record<string, readonly (Bytes | undefined)[]> = {
  'none, empty ones, short ones and long ones': [
    undefined,
    bytesOf(0, 0),
    bytesOf(1, 255),
    inside,
    undefined,
    bytesOf(5_000, 3),
    bytesOf(2, 0),
    undefined,
  ],
  'only none': [undefined, undefined],
  'only empty ones': [bytesOf(0, 0), bytesOf(0, 0)],
  'a single one behind none': [undefined, bytesOf(300, 128)],
}

const kinds: Record<string, (id: string) => Partial<NewJob>> = {
  'plain jobs': () => ({}),
  // They take the rules.
  'jobs with keys': (id) => ({ deduplication: { key: id, mode: 'simple' } }),
}
const cases = Object.entries(batches).flatMap(([what, list]) =>
  Object.entries(kinds).map(([kind, fieldsOf]) => ({ name: `${what}, of ${kind}`, list, fieldsOf })),
)

for (const { name, list, fieldsOf } of cases) {
  test(`the payloads of one add, and the results of one settle: ${name}`, async () => {
    const { server } = await postgresPlace()
    const storage = new PostgresStorage({ url: server.url, schema: newSchema(), listen: false })
    await storage.connect()
    const jobs = list.map((payload, index): NewJob => {
      const id = `${index}`
      return { type: 'mail', id, token: id, retention: kept, ...fieldsOf(id), ...(payload && { payload }) }
    })
    for (const verdict of await storage.add(jobs)) assert.equal(verdict.verdict, 'added')
    const wanted = list.map(hexOf)
    const types = [{ type: 'mail', leaseMs: 60_000 }]
    const claimed = (await storage.claim({ worker: 'w', slots: 100, types })).jobs
    assert.deepEqual(
      claimed.map(({ payload }) => hexOf(payload)),
      wanted,
    )
    // Each job ends with the payload of the one behind it.
    const outcomes = claimed.map(({ type, id, worker, attempt }, index): Outcome => {
      const result = list[(index + 1) % list.length]
      return { type, id, worker, attempt, kind: 'completed', keepMs: 60_000, ...(result && { result }) }
    })
    for (const verdict of await storage.settle(outcomes)) assert.equal(verdict.verdict, 'settled')
    const records = await storage.get(jobs, { parts: ['payload', 'result'] })
    assert.deepEqual(
      records.map((record) => [hexOf(record!.payload), hexOf(record!.result)]),
      wanted.map((payload, index) => [payload, wanted[(index + 1) % list.length]]),
    )
    await storage.disconnect()
  })
}
