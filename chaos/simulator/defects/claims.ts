// Defects of claims: too many, too early, twice, without limits, lost between two steps.

import type { Claim, ClaimRequest, Limits, NewJob } from 'holdfast/storage'
import type { Defect } from './defect.ts'
import { changingClaims, every, ofStorage, without } from './plant.ts'

const withLimits = (request: ClaimRequest, change: (limits: Limits) => Limits | undefined): ClaimRequest => ({
  ...request,
  types: request.types.map((type) => (type.limits ? { ...type, limits: change(type.limits) } : type)),
})

const claimOf = (answer: unknown, jobs: Claim['jobs']): Claim => ({ ...(answer as Claim), jobs })

export const claimDefects: readonly Defect[] = [
  ofStorage(
    'no-limits',
    ['S16'],
    'the limits of a type are not counted',
    changingClaims((request) => withLimits(request, () => undefined)),
  ),
  ofStorage(
    'no-rate',
    ['S16'],
    'rates are ignored',
    changingClaims((request) => withLimits(request, (limits) => without(limits, 'rate'))),
  ),
  ofStorage(
    'no-group-limit',
    ['S16'],
    'the limit of a group is ignored',
    changingClaims((request) => withLimits(request, (limits) => without(limits, 'group'))),
  ),
  ofStorage(
    'one-too-many',
    ['S16'],
    'a claim yields one job more than was asked',
    changingClaims((request) => ({ ...request, slots: request.slots + 1 })),
  ),
  ofStorage(
    'fence-without-number',
    ['S5'],
    'the claims of a worker have one name',
    changingClaims((request) => ({ ...request, worker: request.worker.replace(/\/\d+(\+ahead)?$/, '$1') })),
  ),
  ofStorage('given-twice', ['S5'], 'a job is given to a second claim', () => {
    let last: Claim['jobs'] = []
    const isTurn = every(6)
    return async (verb, args, call) => {
      const answer = await call()
      if (verb !== 'claim') return answer
      const { jobs } = answer as Claim
      const isServed = last.length > 0 && (args[0] as ClaimRequest).types.some(({ type }) => type === last[0]!.type)
      if (jobs.length === 0 && isServed && isTurn()) return claimOf(answer, last)
      if (jobs.length > 0) last = jobs
      return answer
    }
  }),
  ofStorage(
    'claimed-early',
    ['S14'],
    "a worker's clock, 400 ms fast, decides what is due",
    (storage, now) => async (verb, args, call) => {
      if (verb === 'claim') {
        const types = (args[0] as ClaimRequest).types.map(({ type }) => type)
        const { items } = await storage.list({ of: 'jobs', types, states: ['scheduled', 'failing'], limit: 100 })
        const soon = items.filter(({ runAt }) => runAt > now() && runAt <= now() + 400)
        if (soon.length > 0) await storage.revive(soon, { only: 'waiting' })
      }
      return call()
    },
  ),
  ofStorage('taken-too-soon', ['S4'], 'a lease is taken back before its end', (storage) => {
    const isTurn = every(9)
    return async (verb, args, call) => {
      const types = verb === 'claim' ? (args[0] as ClaimRequest).types.map(({ type }) => type) : []
      if (types.length > 0 && isTurn()) await storage.recover({ types, limit: 1, olderThanMs: 0 })
      return call()
    }
  }),
  ofStorage(
    'claim-in-two-steps',
    ['L1', 'L2', 'S6'],
    'a worker dies between the two steps of a claim, and no lease tells of it',
    (storage) => {
      const isTurn = every(11)
      return async (verb, args, call) => {
        const request = args[0] as ClaimRequest
        if (verb !== 'claim' || !isTurn()) return call()
        const types = request.types.map((type) => ({ ...type, leaseMs: 10_000_000 }))
        const answer = await storage.claim({ ...request, types, worker: request.worker.replace('+ahead', '') })
        return claimOf(answer, [])
      }
    },
  ),
  ofStorage(
    'lease-too-long',
    ['L1'],
    'leases are a hundred times as long as asked',
    changingClaims((request) => ({
      ...request,
      types: request.types.map((type) => ({ ...type, leaseMs: type.leaseMs * 1_000 })),
    })),
  ),
  ofStorage('wrong-payload', ['S2'], 'a claim gives a job the payload of another', () => async (verb, _, call) => {
    const answer = await call()
    if (verb !== 'claim') return answer
    const { jobs } = answer as Claim
    if (jobs.length < 2) return answer
    return claimOf(
      answer,
      jobs.map((job, index) => ({ ...job, payload: jobs[(index + 1) % jobs.length]!.payload })),
    )
  }),
  ofStorage(
    'one-group-last',
    ['L6'],
    'groups take no turns, and one of them comes last',
    (storage) => async (verb, args, call) => {
      if (verb === 'add') {
        const jobs = args[0] as readonly NewJob[]
        return storage.add(
          jobs.map((job) => (job.group?.key === 'a' && !job.group.ordered ? { ...job, priority: -100 } : job)),
        )
      }
      if (verb !== 'claim') return call()
      const request = args[0] as ClaimRequest
      const types = request.types.map((type) => ({
        ...type,
        limits: { ...type.limits, group: { ...type.limits?.group, fair: false } },
      }))
      return storage.claim({ ...request, types })
    },
  ),
]
