// Deduplication modes beside one another: what is refused as invalid, and one key with two modes.

import assert from 'node:assert/strict'
import type { Deduplication, NewJob } from 'holdfast/storage'
import { bytes, type Case, text } from '../case.ts'
import { complete } from '../outcomes.ts'
import { recordOf, refOf, statesOf } from '../records.ts'
import { addOne } from '../scenarios.ts'

const debounce = { key: 'k', mode: 'debounce', windowMs: 1_000 }
const ascending = { key: 'k', mode: 'ascending', version: 1 }

const invalid: readonly (readonly [string, object])[] = [
  ['debounce with a delay', { deduplication: debounce, delayMs: 0 }],
  ['debounce with a runAt', { deduplication: debounce, runAt: 1 }],
  ['debounce without a window', { deduplication: { key: 'k', mode: 'debounce' } }],
  ['debounce with a window of 0 ms', { deduplication: { ...debounce, windowMs: 0 } }],
  ['debounce with a maxWaitMs that is no number', { deduplication: { ...debounce, maxWaitMs: Number.NaN } }],
  ['followUp with blockers', { deduplication: { key: 'k', mode: 'followUp' }, blockers: [{ type: 'mail', id: 'x' }] }],
  ['ascending without a version', { deduplication: { key: 'k', mode: 'ascending' } }],
  ['ascending with a version that is no safe integer', { deduplication: { ...ascending, version: 2 ** 53 } }],
  ['ascending with a version with a fraction', { deduplication: { ...ascending, version: 1.5 } }],
  ['ascending with a ttlMs of 0 ms', { deduplication: { ...ascending, ttlMs: 0 } }],
  ['a shared debounce', { deduplication: { ...debounce, shared: true } }],
]

const invalidCases: readonly Case[] = invalid.map(([what, fields]) => ({
  name: `${what} is refused as invalid, and nothing of its batch is written`,
  proves: ['F25'],
  run: async ({ storage, job, added }) => {
    const good = job({ deduplication: { key: 'k', mode: 'simple' } })
    const bad = { ...job(), ...fields } as unknown as NewJob
    await assert.rejects(storage.add([good, bad, job()]), { code: 'INVALID_ARGUMENT' })
    assert.deepEqual((await storage.list({ of: 'jobs', limit: 10 })).items, [])
    await added({ deduplication: { key: 'k', mode: 'simple' } })
  },
}))

const modes = (unit: number): readonly Deduplication[] => [
  { key: 'k', mode: 'simple' },
  { key: 'k', mode: 'throttle' },
  { key: 'k', mode: 'debounce', windowMs: 20 * unit },
  { key: 'k', mode: 'followUp' },
  { key: 'k', mode: 'ascending', version: 5 },
]

const mixedCases: readonly Case[] = [
  {
    name: 'an add of another mode is a duplicate while the holder of the key waits and while it runs',
    proves: ['F25', 'S11'],
    run: async ({ storage, added, advance, claimOne, job, unit }) => {
      for (const held of modes(unit)) {
        const type = held.mode
        const holder = await added({ type, deduplication: held, payload: bytes('mine') })
        const assertDuplicates = async (): Promise<void> => {
          for (const deduplication of modes(unit).filter(({ mode }) => mode !== held.mode)) {
            const verdict = await addOne(storage, job({ type, deduplication, payload: bytes('other') }))
            assert.equal(verdict.verdict === 'duplicate' && verdict.by, 'key')
          }
        }
        await assertDuplicates()
        if (held.mode === 'debounce') await advance(20 * unit)
        await claimOne({ types: [{ type, leaseMs: 500 * unit }] })
        await assertDuplicates()
        assert.equal(text((await recordOf(storage, holder, 'payload')).payload), 'mine')
      }
    },
  },
  {
    name: 'an add of another mode takes the key once its job has ended; a throttle key stays taken',
    proves: ['F25'],
    run: async ({ storage, added, advance, claimOne, job, unit }) => {
      for (const held of modes(unit)) {
        const deduplication: Deduplication =
          held.mode === 'simple' ? { key: 'k', mode: 'followUp' } : { key: 'k', mode: 'simple' }
        const type = held.mode
        await added({ type, deduplication: held })
        if (held.mode === 'debounce') await advance(20 * unit)
        await complete(storage, await claimOne({ types: [{ type, leaseMs: 500 * unit }] }))
        const verdict = await addOne(storage, job({ type, deduplication }))
        assert.equal(verdict.verdict, held.mode === 'throttle' ? 'duplicate' : 'added')
      }
    },
  },
  {
    name: 'an add of another mode that takes the key of a version ends what was known of it',
    proves: ['F25'],
    run: async ({ storage, added, claimOne, unit }) => {
      await added({ deduplication: { key: 'k', mode: 'ascending', version: 5 } })
      await complete(storage, await claimOne())
      await added({ deduplication: { key: 'k', mode: 'simple' } })
      await complete(storage, await claimOne())
      await added({ deduplication: { key: 'k', mode: 'ascending', version: 1, ttlMs: unit } })
    },
  },
  {
    name: 'a repeat in mixed modes of one token gets the first answers',
    proves: ['F25', 'S3'],
    run: async ({ storage, added, job, unit }) => {
      const deduplication = { key: 'k', mode: 'debounce', windowMs: 20 * unit } as const
      await added({ deduplication })
      const batch = [
        job({ token: 't', deduplication }),
        job({ token: 't', deduplication: { key: 'k', mode: 'simple' } }),
      ]
      for (let round = 0; round < 2; round++) {
        const verdicts = await storage.add(batch)
        assert.deepEqual(
          verdicts.map(({ verdict }) => verdict),
          ['replaced', 'duplicate'],
        )
      }
    },
  },
  {
    name: 'a blocker by position that replaced a payload stands for the job that holds the key',
    proves: ['F25', 'S13'],
    run: async ({ storage, added, job, unit }) => {
      const deduplication = { key: 'k', mode: 'debounce', windowMs: 20 * unit } as const
      const holder = await added({ deduplication })
      const dependent = job({ token: 't', type: 'dependent', blockers: [1] })
      const verdicts = await storage.add([dependent, job({ token: 't', deduplication })])
      assert.deepEqual(
        verdicts.map(({ verdict }) => verdict),
        ['added', 'replaced'],
      )
      assert.deepEqual((await recordOf(storage, dependent, 'blockers')).blockers, [refOf(holder)])
      assert.deepEqual(await statesOf(storage, dependent), ['blocked'])
    },
  },
  {
    name: 'the blockers by position of a job that replaced a payload are skipped',
    proves: ['F25', 'S13'],
    run: async ({ storage, added, job, unit }) => {
      const deduplication = { key: 'k', mode: 'debounce', windowMs: 20 * unit } as const
      await added({ deduplication })
      const verdicts = await storage.add([job({ token: 't', deduplication, blockers: [1] }), job({ token: 't' })])
      assert.deepEqual(
        verdicts.map(({ verdict }) => verdict),
        ['replaced', 'skipped'],
      )
    },
  },
]

export const addMixedKeyCases: readonly Case[] = [...invalidCases, ...mixedCases]
