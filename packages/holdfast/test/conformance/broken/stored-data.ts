// Broken keys, retention, counts, bytes, pages and kv.

import type { Mark } from '../../../src/storage/memory/data.ts'
import { expiryAt, refOf } from '../../../src/storage/rules/move.ts'
import type { JobRef } from '../../../src/storage/storage.ts'
import { adding, type BrokenDriver, settling, without } from './driver.ts'

export const brokenStoredData: readonly BrokenDriver[] = [
  {
    name: 'key ignored',
    breaks: 'two jobs of one key are both added',
    caughtBy: 'add: of two jobs with one key in a batch, the first is added and the second is its duplicate',
    open: (sound) => adding(sound, (job) => without(job, 'deduplication')),
  },
  {
    name: 'leaked key',
    breaks: 'the key of a failed job stays taken',
    caughtBy: 'add: a job that is failed frees its simple key at once',
    open: (sound) => {
      const marks = new Map<string, Mark | undefined>()
      return settling(
        sound,
        (outcome) => {
          marks.set(outcome.id, sound.find(outcome)?.chain.mark)
          return outcome
        },
        (verdict, outcome) => {
          const mark = marks.get(outcome.id)
          if (mark && verdict.verdict === 'settled' && verdict.state === 'failed') mark.type.keys.set(mark.key, mark)
          return verdict
        },
      )
    },
  },
  {
    name: 'expired record still read',
    breaks: 'an expired record is shown until it is swept',
    caughtBy: 'settle: a completed job with a retention of 0 ms is gone at its end',
    open: ({ storage, jobs, now }) => {
      const unexpired = <T>(call: () => T): T => {
        const gone = jobs()
          .filter((job) => expiryAt(job) <= now())
          .map((job) => [job, expiryAt(job)] as const)
        for (const [job] of gone) job.expiresAt = Infinity
        const answer = call()
        for (const [job, expiresAt] of gone) job.expiresAt = expiresAt
        return answer
      }
      return {
        get: (refs, options) => unexpired(() => storage.get(refs, { ...options, tx: undefined })),
        list: (query) => unexpired(() => storage.list(query)),
      }
    },
  },
  {
    name: 'one retention for all',
    breaks: 'one short retention deletes the results of all jobs',
    caughtBy: 'settle: the short retention of one job does not affect the result of another',
    open: (sound) =>
      settling(
        sound,
        (outcome) => outcome,
        (verdict) => {
          const ended = [...sound.data().ended]
          const first = Math.min(...ended.map(expiryAt))
          for (const job of ended) job.expiresAt = first
          return verdict
        },
      ),
  },
  {
    name: 'sweep takes a live job',
    breaks: 'a job that waits long is swept',
    caughtBy: 'sweep: a queued job is never swept',
    open: ({ storage, jobs }) => ({
      sweep: async (request) => {
        const late = jobs().find(({ state, root }) => (state === 'scheduled' || state === 'queued') && !root)
        if (late) await storage.remove([refOf(late)], { trees: true })
        return storage.sweep(request)
      },
    }),
  },
  {
    name: 'count spares what never expires',
    breaks: 'records that are kept for ever stay, whatever the count to keep',
    caughtBy: 'sweep: a count applies to records that are kept for ever too, oldest end first, after those that expire',
    open: ({ storage, data }) => ({
      sweep: (request) => {
        const kept = [...data().types.values()].flatMap((type) => [...type.kept])
        for (const job of kept) job.type.kept.remove(job)
        const answer = storage.sweep(request)
        for (const job of kept) job.type.kept.push(job)
        return answer
      },
    }),
  },
  {
    name: 'count wrong after a cancel',
    breaks: 'a cancel by force and the late settle of its holder both decrement the count',
    caughtBy: 'count: refused writes change no count: a late settle and a late recover after a cancel by force',
    open: (sound) =>
      settling(
        sound,
        (outcome) => outcome,
        (verdict, outcome) => {
          if (verdict.verdict === 'cancelled') sound.data().ensureType(outcome.type).counts.processing--
          return verdict
        },
      ),
  },
  {
    name: 'names joined by a colon',
    breaks: 'two jobs whose type and id are equal when joined become one',
    caughtBy: 'hostile: types and ids that are equal when joined are two jobs',
    open: ({ storage }) => {
      const first = new Map<string, JobRef>()
      const meet = <T extends JobRef>(job: T): T => {
        const name = `${job.type}:${job.id}`
        if (!first.has(name)) first.set(name, { type: job.type, id: job.id })
        return { ...job, ...first.get(name) }
      }
      return {
        add: (jobs) => storage.add(jobs.map(meet)),
        get: (refs, options) =>
          storage.get(
            refs.map((ref) => ('id' in ref ? meet(ref) : ref)),
            { ...options, tx: undefined },
          ),
        cancel: (refs, options) => storage.cancel(refs.map(meet), options),
      }
    },
  },
  {
    name: 'payload as text',
    breaks: 'a payload that is not UTF-8 is returned changed',
    caughtBy: 'hostile: bytes that are not UTF-8: every verb returns payload, result and error unchanged',
    open: (sound) =>
      adding(sound, (job) => {
        const payload = job.payload && new TextEncoder().encode(new TextDecoder().decode(job.payload))
        return payload ? { ...job, payload } : job
      }),
  },
  {
    name: 'zero bytes read as no payload',
    breaks: 'a payload of zero bytes is returned as absent',
    caughtBy: 'hostile: an absent payload and a payload of zero bytes stay distinct',
    open: (sound) => adding(sound, (job) => (job.payload?.length === 0 ? without(job, 'payload') : job)),
  },
  {
    name: 'pages by offset',
    breaks: 'rows are listed twice or not at all while others are added and removed',
    caughtBy:
      'list: pages in order asc skip and repeat no row while rows are added and removed, also the row of the cursor',
    open: ({ storage }) => ({
      list: async ({ cursor = '0', ...query }) => {
        const all: Awaited<ReturnType<typeof storage.list>>['items'][number][] = []
        for (let next: string | undefined; ;) {
          const page = await storage.list({ ...query, limit: 1_000, ...(next !== undefined && { cursor: next }) })
          all.push(...page.items)
          if ((next = page.nextCursor) === undefined) break
        }
        const end = Number(cursor) + query.limit
        const items = all.slice(Number(cursor), end)
        return all.length > end ? { items, nextCursor: String(end) } : { items }
      },
    }),
  },
  {
    name: 'cas without comparing',
    breaks: 'a compare-and-set overwrites a value that it did not expect',
    caughtBy: 'kv: cas does not replace another value',
    open: ({ storage: { kv } }) => ({
      kv: Object.assign(Object.create(kv) as object, kvOf(kv), {
        cas: async (key: readonly string[], _: unknown, next: Uint8Array | undefined, options?: { ttlMs?: number }) =>
          kv.cas(key, await kv.get(key), next, options),
      }),
    }),
  },
  {
    name: 'kv ignores the TTL',
    breaks: 'an entry with a TTL is kept forever',
    caughtBy: 'kv: an entry written by set with a TTL of 0 is absent at once for every verb',
    open: ({ storage: { kv } }) => ({
      kv: { ...kvOf(kv), set: (key, value) => kv.set(key, value) },
    }),
  },
]

type Kv = import('../../../src/storage/kv.ts').KeyValue
const kvOf = (kv: Kv): Kv => ({
  get: (key) => kv.get(key),
  set: (key, value, options) => kv.set(key, value, options),
  setIfAbsent: (key, value, options) => kv.setIfAbsent(key, value, options),
  cas: (key, expected, next, options) => kv.cas(key, expected, next, options),
  delete: (key) => kv.delete(key),
  list: (prefix, options) => kv.list(prefix, options),
})
