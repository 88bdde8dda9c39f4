// Broken time, order, groups and pauses.

import { MemoryMove } from '../../../src/storage/memory/move.ts'
import { refreshGroup } from '../../../src/storage/rules/job/wait.ts'
import type { Claim, ClaimedJob, Outcome } from '../../../src/storage/storage.ts'
import { adding, type BrokenDriver, set, settling, type Sound, without } from './driver.ts'

/** Changes each job that a retry returned to waiting. */
const afterRetry = (sound: Sound, change: (job: NonNullable<ReturnType<Sound['find']>>) => void) =>
  settling(
    sound,
    (outcome) => outcome,
    (verdict, outcome) => {
      const job = sound.find(outcome)
      if (verdict.verdict === 'settled' && outcome.kind === 'retry' && job?.state === 'failing') change(job)
      return verdict
    },
  )

export const brokenOrder: readonly BrokenDriver[] = [
  {
    name: 'early claim',
    breaks: 'the clock of the worker decides what is due, and it is an hour fast',
    caughtBy: 'claim: no job is claimed before it is due',
    open: ({ storage, skewed }) => ({ claim: (request) => skewed(3_600_000, () => storage.claim(request)) }),
  },
  {
    name: 'delay ignored',
    breaks: 'a job with a delay is due at once',
    caughtBy: 'claim: no job is claimed before it is due',
    open: (sound) => adding(sound, (job) => without(job, 'delayMs', 'runAt')),
  },
  {
    name: 'retry due at once',
    breaks: 'the delay of a retry is ignored: no backoff',
    caughtBy: 'claim: a retry is claimed when its delay has passed, not before',
    open: (sound) =>
      settling(sound, (outcome) =>
        outcome.kind === 'retry' ? without(outcome, 'delayMs' as keyof Outcome, 'runAt' as keyof Outcome) : outcome,
      ),
  },
  {
    name: 'priority ignored',
    breaks: 'jobs are claimed by age only',
    caughtBy: 'claim: a greater priority is claimed before an older job',
    open: (sound) => adding(sound, (job) => without(job, 'priority')),
  },
  {
    name: 'retry in front',
    breaks: 'a retry goes ahead of all waiting jobs, and a failing job starves the others',
    caughtBy: 'claim: a retry goes behind all waiting jobs, even in the same instant',
    open: (sound) =>
      afterRetry(sound, (job) => {
        if (job.container !== job.type.readyList(job.priority)) return
        job.container.remove(job)
        job.container = job.type.readyList(1_000)
        job.container.push(job)
      }),
  },
  {
    name: 'retry at the end of its group',
    breaks: 'a retry goes behind the other jobs of its ordered group',
    caughtBy: 'claim: the head of an ordered group that waits for its retry keeps its place',
    open: (sound) =>
      afterRetry(sound, (job) => {
        if (!job.group) return
        const data = sound.data()
        job.group.members.remove(job.member!)
        set(job, { accepted: ++data.lastNumber })
        job.group.members.push(job.member!)
        refreshGroup(new MemoryMove(data, sound.now()), job.group)
      }),
  },
  {
    name: 'group not exclusive',
    breaks: 'the next job of an ordered group starts while its head runs',
    caughtBy: 'claim: concurrent claims never hold two jobs of an ordered group',
    open: ({ storage, jobs, data, now }) => ({
      claim: (request) => {
        const answer = storage.claim(request)
        for (const { group, member, lease } of jobs()) {
          if (!group || lease?.worker !== request.worker) continue
          group.members.remove(member!)
          group.running = 0
          refreshGroup(new MemoryMove(data(), now()), group)
        }
        return answer
      },
    }),
  },
  {
    name: 'pause ignored',
    breaks: 'a paused type is claimed',
    caughtBy: 'pause: a paused type is not claimed until it is resumed; then all its jobs are, in order',
    open: ({ storage, data }) => ({
      claim: (request) => {
        const paused = [...data().types.values()].map((type) => [type, type.paused] as const)
        for (const [type] of paused) type.paused = undefined
        const answer = storage.claim(request)
        for (const [type, pause] of paused) type.paused = pause
        return answer
      },
    }),
  },
  {
    name: 'group pause ignored',
    breaks: 'a paused group is claimed',
    caughtBy: 'pause: a paused group is not claimed; other groups and jobs without a group are',
    open: ({ storage, data, now }) => ({
      claim: (request) => {
        const groups = [...data().types.values()].flatMap((type) => [...type.groups.values()])
        const paused = groups.flatMap((group) => (group.paused ? [[group, group.paused] as const] : []))
        for (const [group] of paused) {
          group.paused = undefined
          refreshGroup(new MemoryMove(data(), now()), group)
        }
        const answer = storage.claim(request)
        for (const [group, pause] of paused) {
          group.paused = pause
          refreshGroup(new MemoryMove(data(), now()), group)
        }
        return answer
      },
    }),
  },
  {
    name: 'one type first',
    breaks: 'the first type takes all slots before the second has its turn',
    caughtBy: 'claim: types in turns: two slots go to two types when both have a due job',
    open: ({ storage }) => ({
      claim: async (request) => {
        const whole = {
          jobs: [] as ClaimedJob[],
          recovered: [] as Claim['recovered'][number][],
          ended: [] as Claim['ended'][number][],
        }
        let settled: Claim['settled'] | undefined
        for (const type of request.types) {
          const slots = request.slots - whole.jobs.length
          const outcomes = settled ? undefined : request.outcomes
          const answer = await storage.claim({ ...request, slots, outcomes, types: [type] })
          settled ??= answer.settled
          whole.jobs.push(...answer.jobs)
          whole.recovered.push(...answer.recovered)
          whole.ended.push(...answer.ended)
        }
        return { ...whole, settled: settled ?? [] }
      },
    }),
  },
  {
    name: 'one more than asked',
    breaks: 'a claim yields more jobs than there are slots',
    caughtBy: 'claim: a claim yields no more jobs than its slots',
    open: ({ storage }) => ({ claim: (request) => storage.claim({ ...request, slots: request.slots + 1 }) }),
  },
  {
    name: 'nextDueAt forgets leases',
    breaks: 'a worker sleeps through the end of a lost lease',
    caughtBy: 'nextDueAt: a job with an ended lease is due now',
    open: ({ storage, jobs }) => ({
      nextDueAt: (types) => {
        const held = jobs()
          .filter(({ state }) => state === 'processing')
          .map((job) => [job, job.lease!] as const)
        for (const [job, lease] of held) job.lease = { ...lease, until: Infinity }
        const answer = storage.nextDueAt(types)
        for (const [job, lease] of held) job.lease = lease
        return answer
      },
    }),
  },
  {
    name: 'claim sorts the backlog',
    breaks: 'the larger the backlog, the slower every claim',
    caughtBy:
      'claim: the cost of a claim and of nextDueAt does not grow with the backlog, over many types, priorities and run times',
    open: ({ storage, jobs }) => ({
      claim: async (request) => {
        // As a storage without an index: it reads and sorts every row.
        jobs()
          .map((job) => ({ ...job }))
          .toSorted((a, b) => b.priority - a.priority || a.runAt - b.runAt)
        return storage.claim(request)
      },
    }),
  },
]
