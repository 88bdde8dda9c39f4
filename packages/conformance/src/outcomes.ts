// Outcomes that cases settle. Every function that settles asserts that the storage accepted the outcome.

import assert from 'node:assert/strict'
import type { Fence, LeaseRef, NewJob, Outcome, SettleVerdict, Storage } from 'holdfast/storage'
import { bytes } from './case.ts'
import { fenceOf } from './records.ts'

export type Settled = Extract<SettleVerdict, { verdict: 'settled' }>

/** How an attempt ends: an outcome without its fence. */
export type Ending<Kind extends Outcome['kind'] = Outcome['kind']> = Kind extends Kind
  ? Omit<Extract<Outcome, { kind: Kind }>, keyof LeaseRef | 'chain' | 'token'>
  : never

export const outcomeKinds = ['completed', 'retry', 'failed', 'released', 'continued'] as const

export const outcomeOf = (lease: LeaseRef, ending: Ending): Outcome => ({ ...fenceOf(lease), ...ending }) as Outcome

/** An outcome of this kind with all the bytes that the kind can carry. */
export function sampleOutcome(kind: Outcome['kind'], of: Fence, next: NewJob): Outcome {
  switch (kind) {
    case 'completed':
      return { ...of, kind, result: bytes('result') }
    case 'retry':
      return { ...of, kind, error: bytes('error') }
    case 'failed':
      return { ...of, kind, error: bytes('error') }
    case 'released':
      return { ...of, kind, payload: bytes('replaced') }
    case 'continued':
      return { ...of, kind, next }
  }
}

/** A sample outcome of a kind that may add jobs, with these jobs. */
export const outcomeAdding = (
  kind: 'completed' | 'failed' | 'continued',
  of: Fence,
  next: NewJob,
  add: readonly NewJob[],
): Outcome => ({ ...sampleOutcome(kind, of, next), add }) as Outcome

export async function settleOutcome(storage: Storage, outcome: Outcome): Promise<Settled> {
  const [verdict] = await storage.settle([outcome])
  assert.equal(verdict?.verdict, 'settled')
  return verdict as Settled
}

export const settleOne = (storage: Storage, lease: LeaseRef, ending: Ending): Promise<Settled> =>
  settleOutcome(storage, outcomeOf(lease, ending))

/** Settles one outcome and returns the name of its verdict, accepted or not. */
export async function settleVerdict(storage: Storage, lease: LeaseRef, ending: Ending): Promise<string> {
  return (await storage.settle([outcomeOf(lease, ending)]))[0]!.verdict
}

export const complete = (storage: Storage, lease: LeaseRef, result?: string): Promise<Settled> =>
  settleOne(storage, lease, { kind: 'completed', ...(result === undefined ? undefined : { result: bytes(result) }) })

export const fail = (storage: Storage, lease: LeaseRef, error = 'broken'): Promise<Settled> =>
  settleOne(storage, lease, { kind: 'failed', error: bytes(error) })

export const retry = (storage: Storage, lease: LeaseRef, delayMs = 0): Promise<Settled> =>
  settleOne(storage, lease, { kind: 'retry', error: bytes('again'), delayMs })

export const continueWith = (storage: Storage, lease: LeaseRef, next: NewJob): Promise<Settled> =>
  settleOne(storage, lease, { kind: 'continued', next })
