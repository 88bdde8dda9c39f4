// What is kept, under which name, and for how long: keys, retention, counts, bytes, pages, kv.

import type { Mark } from '../../../src/storage/memory/data.ts'
import { expiryAt, refOf } from '../../../src/storage/rules/move.ts'
import type { JobRef } from '../../../src/storage/storage.ts'
import { adding, type BrokenDriver, settling, without } from './driver.ts'

export const brokenKeeping: readonly BrokenDriver[] = [
  {
    name: 'key ignored',
    breaks: 'two jobs of one key are both added',
    caughtBy: 'add: of one key twice in a batch the first is added, the second its duplicate',
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
    breaks: 'what has expired is shown until it is swept',
    caughtBy: 'settle: a completed job that is kept for 0 ms is gone at its end',
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
    breaks: 'one short retention wipes the results of everybody',
    caughtBy: 'settle: the short time of one job does not touch the result of another',
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
    caughtBy: 'sweep: a job that is queued is never swept',
    open: ({ storage, jobs }) => ({
      sweep: async (request) => {
        const late = jobs().find(({ state, root }) => (state === 'scheduled' || state === 'queued') && !root)
        if (late) await storage.remove([refOf(late)], { trees: true })
        return storage.sweep(request)
      },
    }),
  },
  {
    name: 'count wrong after a cancel',
    breaks: 'a cancel by force and the late settle of its holder are both taken off the count',
    caughtBy: 'count: a refused write counts nothing twice: after a cancel by force, a late settle and a late recover',
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
    breaks: 'two jobs whose type and id read alike when they are joined are one',
    caughtBy: 'hostile: a type and an id that read alike when they are joined are two jobs',
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
    breaks: 'a payload that is no UTF-8 comes back changed',
    caughtBy: 'hostile: bytes that are no UTF-8: payload, result and error come back as they went, from every verb',
    open: (sound) =>
      adding(sound, (job) => {
        const payload = job.payload && new TextEncoder().encode(new TextDecoder().decode(job.payload))
        return payload ? { ...job, payload } : job
      }),
  },
  {
    name: 'no bytes are no payload',
    breaks: 'a payload of zero bytes comes back as none',
    caughtBy: 'hostile: no payload and a payload of zero bytes, side by side, stay apart',
    open: (sound) => adding(sound, (job) => (job.payload?.length === 0 ? without(job, 'payload') : job)),
  },
  {
    name: 'pages by offset',
    breaks: 'rows are listed twice or not at all while others come and go',
    caughtBy:
      'list: pages in order asc miss no survivor and repeat nothing while rows come and go, that of the cursor too',
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
    breaks: 'a compare-and-set writes over what it did not expect',
    caughtBy: 'kv: cas leaves another value alone',
    open: ({ storage: { kv } }) => ({
      kv: Object.assign(Object.create(kv) as object, kvOf(kv), {
        cas: async (key: readonly string[], _: unknown, next: Uint8Array | undefined, options?: { ttlMs?: number }) =>
          kv.cas(key, await kv.get(key), next, options),
      }),
    }),
  },
  {
    name: 'kv without an end',
    breaks: 'an entry with a ttl is kept for ever',
    caughtBy: 'kv: what set wrote for 0 ms is absent at once for every verb',
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
