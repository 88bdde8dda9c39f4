// The table of states and random histories: no call makes a change that is not in the table, and every change in it is made.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ClaimRequest, JobState, Outcome } from 'holdfast/storage'
import { testModel } from '../../../../conformance/src/index.ts'
import { isTerminal, isWaiting, stateTable } from '../../../src/storage/rules/job/states.ts'
import { MemoryStorage } from '../../../src/storage/memory/memory-storage.ts'
import { withManualClock } from '../../drivers.ts'
import { sized } from '../../full-size.ts'

const moves = new Set<PropertyKey>([
  'add',
  'claim',
  'settle',
  'recover',
  'cancel',
  'revive',
  'remove',
  'pause',
  'sweep',
])

/** Reports each change of a job's state by a call, for jobs that exist before and after it. */
function watched(storage: MemoryStorage, onChange: (from: JobState, to: JobState) => void): MemoryStorage {
  const states = async (): Promise<Map<string, JobState>> => {
    const { items } = await storage.list({ of: 'jobs', limit: 1_000 })
    // With the token: an id may be used again.
    return new Map(items.map(({ type, id, token, state }) => [JSON.stringify([type, id, token]), state]))
  }
  const watch = async <T>(call: () => Promise<T>): Promise<T> => {
    const before = await states()
    const answer = await call()
    for (const [job, to] of await states()) {
      const from = before.get(job)
      if (from !== undefined && from !== to) onChange(from, to)
    }
    return answer
  }
  // One by one, so that no job changes twice in a call. The clock stands still meanwhile.
  const settle = async (outcomes: readonly Outcome[]) => {
    const verdicts = []
    for (const outcome of outcomes) verdicts.push(...(await watch(() => storage.settle([outcome]))))
    return verdicts
  }
  const claim = async ({ outcomes = [], ...request }: ClaimRequest) => {
    const settled = await settle(outcomes)
    return { ...(await watch(() => storage.claim(request))), settled }
  }
  const own: Readonly<Record<PropertyKey, unknown>> = { settle, claim }
  return new Proxy(storage, {
    get(target, name) {
      if (Object.hasOwn(own, name)) return own[name]
      const value: unknown = Reflect.get(target, name)
      if (typeof value !== 'function') return value
      const call = value.bind(target) as (...args: unknown[]) => Promise<unknown>
      return moves.has(name) ? (...args: unknown[]) => watch(() => call(...args)) : call
    },
  })
}

test('the table has the changes that histories make, and no other', async () => {
  const seen = new Set<string>()
  const create = () =>
    withManualClock((clock) => watched(new MemoryStorage({ clock }), (from, to) => void seen.add(`${from} → ${to}`)))
  // With this seed every change has been made after 800 histories.
  await testModel({ create, runs: sized(3_000, 800), seed: 2 })
  const table = Object.entries(stateTable).flatMap(([from, { to }]) => to.map((state) => `${from} → ${state}`))
  assert.deepEqual([...seen].toSorted(), table.toSorted())
})

test('the predicates say what the table says', () => {
  for (const [state, { waits, ends }] of Object.entries(stateTable) as [JobState, (typeof stateTable)[JobState]][]) {
    assert.equal(isTerminal(state), ends, state)
    assert.equal(isWaiting(state), waits, state)
  }
})
