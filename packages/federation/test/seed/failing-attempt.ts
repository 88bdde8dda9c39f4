// Runs an attempt that must fail, and checks its error and its row.

import assert from 'node:assert/strict'
import { isHoldfastError } from 'holdfast'
import { federationCodeOf } from '../../src/errors.ts'
import type { Bench, Given } from './bench.ts'
import type { TestPeer } from './world.ts'

type Row = 'deleted' | 'open' | 'failed'

/** Runs one attempt and checks how it fails. */
export async function fails(
  { federation, delivery, row }: Bench,
  peer: TestPeer,
  change: Partial<Given>,
  [kind, code, left]: readonly ['U' | 'R', string, Row],
): Promise<Error & { cause?: unknown }> {
  const job = await delivery(peer, change)
  const error: unknown = await federation.processFederationDelivery(job).then(
    () => assert.fail('it did not fail'),
    (thrown: unknown) => thrown,
  )
  assert.ok(error instanceof Error)
  assert.equal(federationCodeOf(error), code, error.message)
  assert.equal(isHoldfastError(error, 'UNRECOVERABLE'), kind === 'U', `${code} is ${kind}`)
  const after = await row(job.id)
  assert.equal(after?.status ?? 'deleted', left)
  if (after) assert.equal(after.lastError, code)
  return error
}
