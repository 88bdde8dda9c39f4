// Every public call with every hostile value, on every driver: specs of both are tables (calls/, values.ts), and judge.ts says what may
// happen. The memory driver is first, and the others must answer as it did: accepted, or refused with the same code.

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { drivers } from '../drivers.ts'
import { isFull } from '../full-size.ts'
import { stopPostgres } from '../postgres-subject.ts'
import { stopPlaces } from '../redis-places.ts'
import { driverCalls, faceCalls } from './calls/all.ts'
import type { HostileCall } from './call.ts'
import { type Answer, dumpOf, judge } from './judge.ts'
import { openRig, type Rig } from './rig.ts'
import { type HostileValue, hostileValues } from './values.ts'

after(stopPlaces)
after(stopPostgres)

interface Pair {
  readonly call: HostileCall
  readonly value: HostileValue
}

const fits = ({ takes }: HostileCall, { name }: HostileValue): boolean => !takes || name.startsWith(`${takes}:`)

/** @param step 1: all pairs. n: each nth, so that every call and every value has its turn */
const pairsOf = (calls: readonly HostileCall[], step: number): Pair[] =>
  calls
    .flatMap((call) => hostileValues.filter((value) => fits(call, value)).map((value) => ({ call, value })))
    .filter((_, index) => index % step === 0)

const nameOf = ({ call, value }: Pair): string => `${call.name}, ${value.name}`

/** Answers of the memory driver. */
const expected = new Map<string, Answer>()

/** @param clears whether each call finds an empty storage: with all values, calls would meet the groups of others */
async function run(rig: Rig, pairs: readonly Pair[], complaints: string[], clears = false): Promise<void> {
  let last: HostileCall | undefined
  for (const pair of pairs) {
    if (clears && pair.call !== last) await rig.storage.clear()
    last = pair.call
    try {
      const answer = await judge(rig, pair.call, pair.value)
      const first = expected.get(nameOf(pair)) ?? answer
      // What a driver says to a transaction depends on whether it has any.
      const isSame = first === answer || pair.call.name.endsWith(': tx')
      if (!isSame) throw new Error(`${answer}, but ${first} on memory`)
      expected.set(nameOf(pair), first)
    } catch (error) {
      complaints.push(`${nameOf(pair)}: ${(error as Error).message}`)
    }
  }
}

/** Those that are refused first, between two looks at the whole storage. */
async function runAll(rig: Rig, pairs: readonly Pair[]): Promise<void> {
  const complaints: string[] = []
  const chunk = 2_000
  for (let from = 0; from < pairs.length; from += chunk) {
    const some = pairs.slice(from, from + chunk)
    const isRefused = (pair: Pair): boolean => (expected.get(nameOf(pair)) ?? 'accepted') !== 'accepted'
    const before = await dumpOf(rig.storage)
    await run(rig, some.filter(isRefused), complaints)
    assert.equal(await dumpOf(rig.storage), before, 'a refused call wrote')
    await run(
      rig,
      some.filter((pair) => !isRefused(pair)),
      complaints,
      isFull,
    )
    await dumpOf(rig.storage)
    await rig.storage.clear()
  }
  assert.equal(complaints.length, 0, `${complaints.length} pairs:\n${complaints.slice(0, 10).join('\n')}`)
  assert.equal(({} as Record<string, unknown>)['polluted'], undefined)
}

const steps = { memory: [7, 1], else: [151, 11] } as const

for (const driver of ['memory', 'sqlite', 'file', 'redis', 'postgres', ...(isFull ? ['cluster'] : [])]) {
  const [faceStep, driverStep] = isFull ? [1, 1] : driver === 'memory' ? steps.memory : steps.else
  test(`hostile values on ${driver}`, async (t) => {
    const pairs = [...pairsOf(driverCalls, driverStep), ...pairsOf(faceCalls, faceStep)]
    const rig = await openRig(t, () => drivers[driver]!())
    // The first run of memory is the one that the others are compared with: its own second run looks at what refused calls wrote.
    if (driver === 'memory') await runAll(rig, [...pairsOf(driverCalls, 1), ...pairs])
    await runAll(rig, pairs)
    t.diagnostic(
      `hostile: ${driver}: ${pairs.length} pairs of ${driverCalls.length + faceCalls.length} calls and ${hostileValues.length} values`,
    )
  })
}
