// What is in force: the override over what is declared; and what a claim carries of it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { claimLimits, effectiveLimits, groupLimitsOf } from '../../../src/engine/limits/effective-limits.ts'
import type { LimitsOptions } from '../../../src/engine/limits/limits-options.ts'
import {
  decodeLimits,
  encodeLimits,
  patched,
  patchedGroup,
  type StoredLimits,
} from '../../../src/engine/limits/stored-limits.ts'

const rate = { limit: 100, perMs: 60_000 }
const nothing = { limits: undefined, release: 0 }
const declared = (limits: LimitsOptions, release = 0): StoredLimits => ({ declared: { limits, release } })
const set = <T>(limits: T) => ({ limits, at: 5, by: 'ada' })

test('[F20] a type without limits has none, and its claims carry nothing', () => {
  assert.equal(effectiveLimits(undefined, nothing), undefined)
  assert.equal(claimLimits(undefined), undefined)
  assert.equal(claimLimits(effectiveLimits(declared({}), nothing)), undefined)
})

test('[F20] an override is over what is declared, field by field, also inside a group', () => {
  const stored = {
    ...declared({ concurrency: 5, rate, group: { limit: 1, fair: true, onFailure: 'hold' } }),
    override: set({ concurrency: 2, group: { limit: 3 } }),
  } satisfies StoredLimits
  const effective = effectiveLimits(stored, nothing)!
  assert.deepEqual(effective.type, { concurrency: 2, rate, group: { limit: 3, fair: true, onFailure: 'hold' } })
  assert.deepEqual(claimLimits(effective), { concurrency: 2, rate, group: { limit: 3 } })
})

test('[F21] [F22] the limits of one group are complete, in the place of those of every group', () => {
  const stored = {
    ...declared({ group: { limit: 1, rate } }),
    groups: { vip: set({ limit: 10 }), constructor: set({ rate: { limit: Infinity, perMs: 1 } }) },
  }
  const effective = effectiveLimits(stored, nothing)!
  assert.deepEqual(groupLimitsOf(effective, 'vip'), { limit: 10, rate })
  assert.deepEqual(groupLimitsOf(effective, 'toString'), { limit: 1, rate })
  const claim = claimLimits(effective)!
  assert.deepEqual({ ...claim.groups }, { vip: { limit: 10, rate }, constructor: { limit: 1 } })
  // A group without limits of its own must find none, whatever it is called.
  assert.equal(claim.groups!['toString'], undefined)
})

test('[F24] what only adds check is not in a claim, nor is what is the default', () => {
  const limits = { maxWaiting: 5, group: { maxWaiting: 2, onFailure: 'hold', fair: true } } as const
  assert.equal(claimLimits(effectiveLimits(declared(limits), nothing)), undefined)
  const unfair = effectiveLimits(declared({ group: { fair: false } }), nothing)
  assert.deepEqual(claimLimits(unfair), { group: { fair: false } })
})

test('[F20] Infinity lifts a limit, and survives the storage', () => {
  const lifted = patched(undefined, { concurrency: Infinity, rate: { limit: Infinity, perMs: 1_000 } })
  const stored = { ...declared({ concurrency: 5, rate }), override: set(lifted!) }
  const read = decodeLimits(encodeLimits(stored))
  assert.deepEqual(read, stored)
  assert.equal(claimLimits(effectiveLimits(read, nothing)), undefined)
})

test('[F20] null removes a field of an override, and the last one removes the override', () => {
  const first = patched(undefined, { concurrency: 1, rate, group: { limit: 1, fair: false } })
  assert.deepEqual(patched(first, { rate: null }), { concurrency: 1, group: { limit: 1, fair: false } })
  assert.deepEqual(patched(first, { group: { limit: null } }), { concurrency: 1, rate, group: { fair: false } })
  assert.deepEqual(patched(first, { group: { limit: null, fair: null } }), { concurrency: 1, rate })
  assert.deepEqual(patched(first, { group: null }), { concurrency: 1, rate })
  assert.equal(patched(first, { concurrency: null, rate: null, group: null }), undefined)
  assert.equal(patchedGroup({ limit: 1 }, { limit: null }), undefined)
  assert.deepEqual(patchedGroup({ limit: 1 }, { rate }), { limit: 1, rate })
})

test('[F20] all processes use what is stored; a later release that has not stored its own uses that', () => {
  const stored = declared({ concurrency: 5 }, 3)
  const own = { concurrency: 1 }
  const inForce = (release: number): number | undefined =>
    effectiveLimits(stored, { limits: own, release })!.type.concurrency
  assert.deepEqual([inForce(2), inForce(3), inForce(4)], [5, 5, 1])
  assert.deepEqual(effectiveLimits(undefined, { limits: own, release: 0 })!.type, own)
  assert.equal(effectiveLimits(stored, { limits: undefined, release: 4 })!.type.concurrency, 5)
})
