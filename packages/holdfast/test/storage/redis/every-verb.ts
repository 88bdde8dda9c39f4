// Every verb of the contract on one storage, for tests of what is left behind.

import assert from 'node:assert/strict'
import type { Storage } from 'holdfast'
import type { ClaimedJob, Limits, NewJob, Outcome } from 'holdfast/storage'

/** Retention of `job`, in ms. */
export const keptMs = 150
export const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
const large = new Uint8Array(10_000).fill(7)

let tokens = 0
export const job = (id: string, fields: Partial<NewJob> = {}, ms = keptMs): NewJob => ({
  type: 'mail',
  id,
  token: `token-${++tokens}`,
  retention: { completedMs: ms, failedMs: ms, cancelledMs: ms },
  maxAttempts: 2,
  ...fields,
})

export const claim = async (storage: Storage, slots = 100): Promise<readonly ClaimedJob[]> => {
  const types = ['mail', 'a:b', '%'].map((type) => ({ type, leaseMs: 30_000 }))
  return (await storage.claim({ worker: `worker-${++tokens}`, label: 'host-1', slots, types })).jobs
}

export const ended = ({ type, id, worker, attempt }: ClaimedJob, kind: 'completed' | 'failed'): Outcome => {
  const lease = { type, id, worker, attempt }
  if (kind === 'completed') return { ...lease, kind, result: bytes('result') }
  return { ...lease, kind, error: bytes('error') }
}

/** Runs every verb, on jobs with every option and in every state. At the end all jobs are terminal. */
export async function runEveryVerb(storage: Storage, ms = 1_500): Promise<void> {
  const make = (id: string, fields?: Partial<NewJob>): NewJob => job(id, fields, ms)
  const group = { key: 'g:1', ordered: true } as const
  const windowMs = ms
  await storage.kv.set(['a', 'b'], bytes('1'), { ttlMs: ms })
  await storage.kv.set(['a', 'c'], large, ms < 10_000 ? { ttlMs: ms } : undefined)
  await storage.kv.cas(['a', 'b'], bytes('1'), bytes('2'), { ttlMs: ms })
  await storage.kv.setIfAbsent(['gone'], bytes('1'))
  await storage.kv.delete(['gone'])
  await storage.kv.list(['a'], { limit: 10 })
  await storage.pause({ type: 'mail', paused: true, by: 'me' })
  await storage.pause({ type: 'mail', group: 'g:1', paused: true, by: 'me' })
  await storage.add([
    make('plain'),
    make('large', { payload: large, trace: 'trace' }),
    make('high', { priority: 7 }),
    make('low', { priority: -7, type: 'a:b' }),
    make('odd', { type: '%', payload: new Uint8Array() }),
    make('first', { group }),
    make('second', { group }),
    make('later', { delayMs: 3_600_000 }),
    make('late', { delayMs: 3_600_000, expiresInMs: 1, search: { customer: 'c-2', total: 7 } }),
    make('searched', { search: { customer: 'c-1', total: 1.5, paid: true }, timeoutMs: 1_000 }),
    make('later in group', { delayMs: 3_600_000, group: { key: 'later', ordered: true } }),
  ])
  await runGroups(storage, make)
  await storage.add([
    make('simple', { deduplication: { key: 'k1', mode: 'simple' } }),
    make('simple window', { deduplication: { key: 'k2', mode: 'simple', windowMs } }),
    make('throttle', { deduplication: { key: 'k3', mode: 'throttle' } }),
    make('throttle window', { deduplication: { key: 'k4', mode: 'throttle', windowMs } }),
  ])
  const shared = { key: 'k5', mode: 'throttle', windowMs, shared: true } as const
  await storage.add(['one', 'two'].map((id) => make(id, { token: 'both', deduplication: shared })))
  await storage.add([
    make('top', { token: 'tree', blockers: [1, 2] }),
    make('under', { token: 'tree', type: 'a:b' }),
    make('also under', { token: 'tree', payload: large }),
    make('waiting', { token: 'tree', blockers: [4], onBlockerFailure: 'wait' }),
    make('to fail', { token: 'tree' }),
    make('fails with it', { token: 'tree', blockers: [{ type: 'mail', id: 'plain' }] }),
  ])
  const paused = await storage.claim({ worker: 'too early', slots: 1, types: [{ type: 'mail', leaseMs: 1_000 }] })
  assert.deepEqual(paused.jobs, [])
  await storage.pause({ type: 'mail', paused: false })
  await storage.pause({ type: 'mail', group: 'g:1', paused: false })
  await storage.nextDueAt([{ type: 'mail', leaseMs: 1_000 }])
  await storage.list({ of: 'chains', limit: 5 })
  await storage.list({ of: 'jobs', by: 'place', limit: 5 })
  await storage.list({ of: 'jobs', where: { customer: 'c-1', total: { gt: 1 } }, limit: 5 })
  await storage.add([make('replaced', { search: { customer: 'old' } })])
  await storage.add([make('replaced', { search: { customer: 'new' }, onDuplicate: 'replace' })])
  // The first attempts end in retry, release with another payload, continuation, and completion with or without added jobs.
  let turn = 0
  for (let jobs = await claim(storage, 3); jobs.length > 0; jobs = await claim(storage, 3)) {
    const report = { progress: bytes('50'), log: [{ at: 1, line: bytes('a line') }] }
    await storage.extend(
      jobs.map(({ type, id, worker, attempt }) => ({ type, id, worker, attempt, leaseMs: 30_000, ...report })),
    )
    await storage.get(jobs, { parts: ['progress', 'log'] })
    const outcomes = jobs.map((each): Outcome => {
      const lease = { type: each.type, id: each.id, worker: each.worker, attempt: each.attempt }
      if (each.id === 'to fail' || each.id === 'plain') return ended(each, 'failed')
      if (each.attempt > 1 || each.chainIndex > 0) return ended(each, 'completed')
      switch (turn++ % 5) {
        case 0:
          return { ...lease, kind: 'retry', error: bytes('once more') }
        case 1:
          return { ...lease, kind: 'released', payload: large }
        case 2:
          return { ...lease, kind: 'continued', next: make(`after ${each.id}`, { payload: large }) }
        case 3:
          return { ...lease, kind: 'completed', add: [make(`added by ${each.id}`)] }
        default:
          return ended(each, 'completed')
      }
    })
    await storage.settle(outcomes)
  }
  await storage.revive([{ type: 'mail', id: 'to fail', payload: large }])
  const [revived] = await claim(storage)
  await storage.settle([ended(revived!, 'completed')])
  const [unblocked] = await claim(storage)
  assert.equal(unblocked!.id, 'waiting')
  await storage.extend([{ ...unblocked!, leaseMs: 0 }])
  await storage.recover({ types: ['mail'], limit: 10 })
  const [again] = await claim(storage)
  await storage.cancel([again!], { force: true, reason: 'enough' })
  await storage.cancel([{ type: 'mail', id: 'later' }])
  const { ended: late } = await storage.sweep({ limit: 10, keep: [{ type: '%', state: 'completed', count: 0 }] })
  assert.deepEqual(
    late.map(({ id }) => id),
    ['late'],
  )
  await storage.remove([{ type: 'mail', id: 'later in group' }], { trees: true })
  const { types } = await storage.count({})
  const live = types.flatMap(({ states }) => [
    states.queued,
    states.scheduled,
    states.blocked,
    states.processing,
    states.failing,
  ])
  assert.deepEqual(
    live.filter((number) => number > 0),
    [],
    'all jobs are terminal',
  )
}

/** Groups, limits, rates, slow-downs and holds. At the end their jobs are terminal. */
async function runGroups(storage: Storage, make: typeof job): Promise<void> {
  const type = 'limited'
  const rate = { limit: 5, perMs: 50 }
  const limits: Limits = { concurrency: 4, rate, group: { limit: 2, rate }, groups: { other: { limit: 1 } } }
  const take = async (fair = true): Promise<readonly ClaimedJob[]> => {
    const types = [{ type, leaseMs: 30_000, limits: { ...limits, group: { ...limits.group, fair } } }]
    await storage.nextDueAt(types)
    return (await storage.claim({ worker: `worker-${++tokens}`, slots: 10, types })).jobs
  }
  const held = { key: 'held', ordered: true, onFailure: 'hold' } as const
  await storage.add([
    ...['a', 'b', 'c'].map((id) => make(id, { type, group: { key: 'g:1' }, priority: 3, maxWaiting: { group: 3 } })),
    ...['d', 'e'].map((id) => make(id, { type, group: { key: 'other' }, weight: 2 })),
    ...['f', 'g'].map((id) => make(id, { type, group: held })),
    make('h', { type, maxWaiting: { type: 100 } }),
  ])
  const [refused] = await storage.add([make('refused', { type, group: { key: 'g:1' }, maxWaiting: { group: 3 } })])
  assert.equal(refused!.verdict, 'queue_full')
  const lease = ({ id, worker, attempt }: ClaimedJob) => ({ type, id, worker, attempt })
  let isFailed = false
  for (let open = 8; open > 0;) {
    const jobs = await take(open % 2 === 0)
    const outcomes = jobs.map((each): Outcome => {
      if (each.id === 'f' && !isFailed) return { ...lease(each), kind: 'failed' }
      if (each.attempt > 1 || each.id < 'c') return { ...lease(each), kind: 'completed' }
      return { ...lease(each), kind: 'released', delayMs: 1, slowDown: each.id === 'h' ? 'type' : 'group' }
    })
    await storage.settle(outcomes)
    open -= outcomes.filter(({ kind }) => kind === 'completed').length
    const counts = await storage.count({ types: [type], limits: { type, limits, groups: ['g:1', 'held'] } })
    if (counts.types[0]!.groups![1]!.heldBy === undefined) continue
    isFailed = true
    await storage.revive([{ type, id: 'f' }])
  }
}
