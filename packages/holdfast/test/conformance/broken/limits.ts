// Broken turns, limits, rates, holds and depths.

import type { TypeData } from '../../../src/storage/memory/data.ts'
import { MemoryMove } from '../../../src/storage/memory/move.ts'
import type { ClaimRequest, Limits } from '../../../src/storage/storage.ts'
import { adding, type BrokenDriver, settling, type Sound, without } from './driver.ts'

/** Claims with other limits than those of the request. */
const limiting = ({ storage }: Sound, change: (limits: Limits) => Limits) => ({
  claim: (request: ClaimRequest) => {
    const types = request.types.map((type) => (type.limits ? { ...type, limits: change(type.limits) } : type))
    return storage.claim({ ...request, types })
  },
})

const typesOf = ({ data }: Sound): TypeData[] => [...data().types.values()]

export const brokenLimits: readonly BrokenDriver[] = [
  {
    name: 'first group first',
    breaks: 'the group that came first is served until it is empty',
    caughtBy: 'claim: groups take turns across claims',
    open: (sound) => ({
      claim: (request) => {
        const before = typesOf(sound).flatMap((type) =>
          type.ring.items.map((group) => ({ group, turnAt: group.turnAt, turn: group.turn })),
        )
        const answer = sound.storage.claim(request)
        const move = new MemoryMove(sound.data(), sound.now())
        for (const { group, ...turn } of before) if (group.turnAt !== undefined) move.changeGroup(group, turn)
        return answer
      },
    }),
  },
  {
    name: 'groups before all others',
    breaks: 'jobs without a group wait until no group has a job',
    caughtBy: 'claim: the jobs without a group take turns with the groups, as one more group',
    open: (sound) => ({
      claim: (request) => {
        for (const type of typesOf(sound)) {
          if (type.ring.size > 0) new MemoryMove(sound.data(), 0).changeFlow(type, { turnAt: Infinity })
        }
        return sound.storage.claim(request)
      },
    }),
  },
  {
    name: 'turns in spite of fair: false',
    breaks: 'an urgent job waits for the turn of its group',
    caughtBy: 'claim: without turns, priority, then runAt, then acceptance decide across groups and jobs without one',
    open: (sound) =>
      limiting(sound, ({ group, ...limits }) => ({ ...limits, ...(group && { group: without(group, 'fair') }) })),
  },
  {
    name: 'concurrency per claim',
    breaks: 'each worker has the concurrency of the type for itself',
    caughtBy: 'claim: a type has at most its concurrency in processing, in one claim and over several',
    open: ({ storage }) => ({
      claim: (request) => {
        const types = request.types.map(({ limits, slots = Infinity, ...type }) => ({
          ...type,
          slots: Math.min(slots, limits?.concurrency ?? Infinity),
          ...(limits && { limits: without(limits, 'concurrency') }),
        }))
        return storage.claim({ ...request, types })
      },
    }),
  },
  {
    name: 'one more than the concurrency',
    breaks: 'the limit is overshot by one',
    caughtBy: 'claim: a job that completes makes room in a type at its concurrency',
    open: (sound) =>
      limiting(sound, ({ concurrency, ...limits }) => ({
        ...limits,
        ...(concurrency !== undefined && { concurrency: concurrency + 1 }),
      })),
  },
  {
    name: 'no limit of groups',
    breaks: 'a tenant takes every worker',
    caughtBy: 'claim: a group has at most its limit in processing; other groups and jobs without one go on',
    open: (sound) =>
      limiting(sound, ({ group, ...limits }) => ({ ...limits, ...(group && { group: without(group, 'limit') }) })),
  },
  {
    name: 'fixed windows',
    breaks: 'a rate starts anew with every full window of the clock, and two windows meet in a burst',
    caughtBy: 'claim: starts leave the window one after the other, as they came',
    open: (sound) => ({
      claim: (request) => {
        for (const type of typesOf(sound)) {
          const use = type.flow?.rate
          const isOver = use && Math.floor(use.buckets[0]![0] / use.perMs) < Math.floor(sound.now() / use.perMs)
          if (isOver) new MemoryMove(sound.data(), sound.now()).changeFlow(type, { rate: undefined })
        }
        return sound.storage.claim(request)
      },
    }),
  },
  {
    name: 'weights ignored',
    breaks: 'every job costs 1 of a rate',
    caughtBy: 'claim: a job costs its weight, which its record and its claim show',
    open: (sound) => adding(sound, (job) => without(job, 'weight')),
  },
  {
    name: 'group rate ignored',
    breaks: 'a tenant has the rate of all',
    caughtBy: 'claim: every group has the rate for itself; jobs without a group have none',
    open: (sound) =>
      limiting(sound, ({ group, ...limits }) => ({ ...limits, ...(group && { group: without(group, 'rate') }) })),
  },
  {
    name: 'told to slow down, and goes on',
    breaks: 'the other jobs of the type run into the limit of the remote server',
    caughtBy: 'settle: a type that is slowed down starts nothing before then, and everything from then on',
    open: (sound) =>
      settling(sound, (outcome) => (outcome.kind === 'released' ? without(outcome, 'slowDown') : outcome)),
  },
  {
    name: 'failure holds nothing',
    breaks: 'the jobs behind a failed one run without its effects',
    caughtBy: 'claim: a group is held when its head failed because its handler failed it',
    open: (sound) =>
      adding(sound, ({ group, ...job }) =>
        group?.ordered ? { ...job, group: { key: group.key, ordered: true } } : { ...job, ...(group && { group }) },
      ),
  },
  {
    name: 'held for ever',
    breaks: 'a group stays stopped after its failed job was removed',
    caughtBy: 'claim: a held group goes on once the failed job is removed',
    open: ({ storage, data, now }) => ({
      remove: async (jobs, options) => {
        const groups = [...data().types.values()].flatMap((type) => [...type.groups.values()])
        const held = groups.flatMap((group) => (group.heldBy ? [[group, group.heldBy] as const] : []))
        const verdicts = await storage.remove(jobs, options as never)
        const move = new MemoryMove(data(), now())
        for (const [group, heldBy] of held) move.changeGroup(group, { heldBy, turnAt: undefined })
        return verdicts
      },
    }),
  },
  {
    name: 'queue without a bottom',
    breaks: 'maxWaiting is ignored',
    caughtBy: 'add: a job is refused once the number of waiting jobs of its type is reached, and nothing is written',
    open: (sound) => adding(sound, (job) => without(job, 'maxWaiting')),
  },
  {
    name: 'nextDueAt ignores limits',
    breaks: 'the workers of a full type poll without end',
    caughtBy: 'nextDueAt: a type at its concurrency can be claimed at the end of its first lease, or when a job ends',
    open: ({ storage }) => ({
      nextDueAt: (types) => storage.nextDueAt(types.map((type) => without(type, 'limits'))),
    }),
  },
]
