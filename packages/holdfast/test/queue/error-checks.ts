// What every error of ours has.

import assert from 'node:assert/strict'
import { HoldfastError, isHoldfastError } from 'holdfast'

/** What it rejects with. */
export const reasonOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => assert.fail('it did not reject'),
    (reason: unknown) => reason,
  )

/** Every error of ours has these; JSON has its fields, its message, and no stack. */
export function assertOurs(error: unknown, name: string, code: string, fields: Record<string, unknown>): void {
  assert.ok(error instanceof HoldfastError && error instanceof Error)
  assert.ok(isHoldfastError(error, code as 'TIMEOUT'))
  const { message } = error
  for (const [field, value] of Object.entries({ name, code, ...fields })) {
    assert.deepEqual((error as unknown as Record<string, unknown>)[field], value, field)
  }
  assert.ok(message.length > 0 && !message.includes('\n'))
  const { cause: _, ...json } = JSON.parse(JSON.stringify(error)) as Record<string, unknown>
  assert.deepEqual(json, JSON.parse(JSON.stringify({ name, code, message, ...fields })))
}
