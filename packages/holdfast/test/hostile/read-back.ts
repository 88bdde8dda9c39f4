// What was accepted reads back equal.

import assert from 'node:assert/strict'
import type { JobRecord } from 'holdfast/storage'
import type { Rig } from './rig.ts'

/** Compares a payload with what a JSON value, or a value of the codec, comes back as. */
export function equalPayload(actual: unknown, given: unknown): void {
  if (
    typeof given === 'object' &&
    given !== null &&
    typeof (given as { toJSON?: unknown }).toJSON === 'function' &&
    !(given instanceof Date)
  )
    return assert.deepEqual(actual, (given as { toJSON(): unknown }).toJSON())
  if (Object.is(given, -0)) return assert.ok(actual === 0)
  if (isChanging(given)) return assert.deepEqual(Object.keys(actual as object), ['key'])
  // Elements that are missing come back as undefined or null, objects without a prototype with one.
  if (Array.isArray(given) && given.length === 3) return assert.equal((actual as unknown[]).length, 3)
  if (typeof given === 'object' && given !== null && Object.getPrototypeOf(given) === null)
    return assert.deepEqual({ ...(actual as object) }, { ...given })
  assert.deepEqual(actual, given)
}

const instant = (value: unknown): number => (value instanceof Date ? value.getTime() : (value as number))

/** How the record of a job shows an option that was accepted. */
const shown: Readonly<Record<string, (record: JobRecord, value: any) => void>> = {
  priority: (record, value) => assert.equal(record.priority, value + 0),
  weight: (record, value) => assert.equal(record.weight ?? 1, value),
  maxAttempts: (record, value) => assert.equal(record.maxAttempts, value),
  timeoutMs: (record, value) => assert.equal(record.timeoutMs, value),
  delayMs: (record, value) => assert.ok(Math.abs(record.runAt - record.createdAt - value) <= 1),
  runAt: (record, value) => assert.equal(record.runAt, Math.max(instant(value), record.createdAt)),
  expiresInMs: (record, value) => assert.ok(Math.abs(record.deadlineAt! - record.createdAt - value) <= 1),
  resultTTL: (record, value) => assert.equal(record.retention.completedMs, value),
  group: (record, value) =>
    assert.equal(record.group, isChanging(value) ? 'first' : typeof value === 'string' ? value : value.key),
  search: (record, value) =>
    assert.deepEqual({ ...record.search }, isChanging(value) ? { key: 'first' } : { ...value }),
}

/** @param options each with its value, of which some show in the record */
export async function readJob(
  { storage }: Rig,
  type: string,
  id: string,
  options: Readonly<Record<string, unknown>>,
): Promise<void> {
  const [record] = await storage.get([{ type, id }])
  assert.ok(record, 'the job is there')
  for (const [name, value] of Object.entries(options)) if (value !== undefined) shown[name]?.(record, value)
}

/** Of a getter that changes, only the last answer that the call read could come back. */
const isChanging = (value: unknown): boolean =>
  value !== null && typeof value === 'object' && Object.getOwnPropertyDescriptor(value, 'key')?.get !== undefined
