// Defects of cancels, pauses, deletions and reads.

import type { CancelOptions, ClaimRequest, Counts, GetOptions, JobRecord, JobRef, PauseRequest } from 'holdfast/storage'
import type { Defect } from './defect.ts'
import { every, ofStorage, recordOf } from './plant.ts'

export const operationDefects: readonly Defect[] = [
  ofStorage('live-job-swept', ['S1'], 'a sweep deletes a live job', (storage) => async (verb, _, call) => {
    if (verb === 'sweep') {
      const { items } = await storage.list({ of: 'jobs', states: ['scheduled', 'failing', 'queued'], limit: 1 })
      if (items.length > 0) await storage.remove(items, { trees: true })
    }
    return call()
  }),
  ofStorage(
    'live-job-removed',
    ['S1'],
    'a remove deletes a live job',
    (storage) => async (verb, args, call) =>
      verb === 'remove' ? storage.remove(args[0] as readonly JobRef[], { trees: true }) : call(),
  ),
  ofStorage('job-forgotten', ['S1'], 'a claim forgets a waiting job', (storage) => {
    const isTurn = every(20)
    return async (verb, args, call) => {
      if (verb === 'claim' && isTurn()) {
        const types = (args[0] as ClaimRequest).types.map(({ type }) => type)
        const { items } = await storage.list({ of: 'jobs', types, states: ['scheduled', 'failing'], limit: 1 })
        if (items.length > 0) await storage.remove(items, { trees: true })
      }
      return call()
    }
  }),
  ofStorage(
    'cancel-forgotten',
    ['S9'],
    'a cancel is acknowledged and not written',
    (storage) => async (verb, args, call) => {
      if (verb !== 'cancel') return call()
      const [ref] = args[0] as readonly JobRef[]
      const record = await recordOf(storage, ref!)
      const isWaiting = record && ['scheduled', 'queued', 'failing'].includes(record.state)
      return isWaiting ? [{ verdict: 'cancelled' }] : call()
    },
  ),
  ofStorage(
    'abort-forgotten',
    ['S9'],
    'a running job is told cancelling, and nothing is written',
    (storage) => async (verb, args, call) => {
      if (verb !== 'cancel' || !(args[1] as CancelOptions | undefined)?.abort) return call()
      const record = await recordOf(storage, (args[0] as readonly JobRef[])[0]!)
      return record?.state === 'processing' ? [{ verdict: 'cancelling' }] : call()
    },
  ),
  ofStorage(
    'pause-ignored',
    ['S22'],
    'a pause is acknowledged and not written',
    () => async (verb, args, call) => (verb === 'pause' && (args[0] as PauseRequest).paused ? undefined : call()),
  ),
  ofStorage(
    'group-pause-ignored',
    ['S22'],
    'the pause of a group is acknowledged and not written',
    () => async (verb, args, call) => {
      const { paused, group } = (verb === 'pause' ? args[0] : {}) as Partial<PauseRequest>
      return paused && group !== undefined ? undefined : call()
    },
  ),
  ofStorage(
    'one-expiry-per-type',
    ['S12'],
    'the shortest lifetime of a result applies to all results',
    (_, now) => async (verb, args, call) => {
      const answer = await call()
      if (verb !== 'get' || !(args[1] as GetOptions | undefined)?.parts?.includes('result')) return answer
      const since = now() - 300
      return (answer as (JobRecord | undefined)[]).map((record) => (isKept(record, since) ? record : undefined))
    },
  ),
  ofStorage(
    'result-of-another',
    ['S12', 'S25'],
    'a read gives the result of another job',
    () => async (verb, _, call) => {
      const answer = await call()
      if (verb !== 'get') return answer
      return (answer as (JobRecord | undefined)[]).map((record) =>
        record?.result ? { ...record, result: Buffer.from('"result-of-another"') } : record,
      )
    },
  ),
  ofStorage('served-after-expiry', ['S12'], 'an expired result is still given', () => {
    const cache = new Map<string, JobRecord>()
    return async (verb, args, call) => {
      const answer = await call()
      if (verb !== 'get') return answer
      return (answer as (JobRecord | undefined)[]).map((record, index) => {
        const key = JSON.stringify((args[0] as readonly unknown[])[index])
        if (record?.state === 'completed' && record.result) cache.set(key, record)
        return record ?? cache.get(key)
      })
    }
  }),
  ofStorage('count-off-by-one', ['S19'], 'a completed job is counted twice', () => async (verb, _, call) => {
    const answer = await call()
    if (verb !== 'count') return answer
    const { types, ...rest } = answer as Counts
    const off = types.map((one) => ({ ...one, states: { ...one.states, completed: one.states.completed * 2 } }))
    return { ...rest, types: off }
  }),
  ofStorage(
    'nothing-swept',
    ['S20'],
    'a sweep deletes nothing, and says that it is done',
    () => async (verb, _, call) =>
      verb === 'sweep' ? { jobs: 0, ended: [], marks: 0, entries: 0, more: false } : call(),
  ),
]

/** Not completed, or completed since. */
const isKept = (record: JobRecord | undefined, since: number): boolean =>
  record?.state !== 'completed' || record.finishedAt! > since
