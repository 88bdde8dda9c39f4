// Fences, verdicts and repeats.

import type { LeaseVerdict, Outcome } from '../../../src/storage/storage.ts'
import { type BrokenDriver, settling, type Sound } from './driver.ts'

/** Puts the fence in force into an outcome whose own is near enough. */
const trusting =
  ({ find }: Sound, isNear: (given: { worker: string; attempt: number }, job: Fenced) => boolean) =>
  (outcome: Outcome): Outcome => {
    const job = find(outcome)
    if ('chain' in outcome || job?.state !== 'processing') return outcome
    const held = { worker: job.lease!.worker, attempt: job.attempt }
    return isNear(outcome, held) ? { ...outcome, ...held } : outcome
  }
interface Fenced {
  readonly worker: string
  readonly attempt: number
}

export const brokenFences: readonly BrokenDriver[] = [
  {
    name: 'no fence on settle',
    breaks: 'settle compares the id only: a late worker ends the run of another',
    caughtBy:
      'settle: completed of a holder whose job is held by another is told taken_by_another_worker, and changes nothing',
    open: (sound) =>
      settling(
        sound,
        trusting(sound, () => true),
      ),
  },
  {
    name: 'worker-only fence',
    breaks: 'settle compares the worker and forgets the attempt',
    caughtBy:
      'settle: completed of a holder whose worker is right but whose attempt is an older one is told taken_by_another_worker, and changes nothing',
    open: (sound) =>
      settling(
        sound,
        trusting(sound, (given, held) => given.worker === held.worker),
      ),
  },
  {
    name: 'attempt-only fence',
    breaks:
      'settle compares the attempt and forgets the worker: the first attempt of an earlier life ends that of the next',
    caughtBy:
      'settle: completed of a holder whose attempt is right but whose worker is not is told taken_by_another_worker, and changes nothing',
    open: (sound) =>
      settling(
        sound,
        trusting(sound, (given, held) => given.attempt === held.attempt),
      ),
  },
  {
    name: 'no fence on extend',
    breaks: 'a late worker keeps the lease of another alive',
    caughtBy: 'extend: a holder whose job is held by another is told taken_by_another_worker, and nothing is extended',
    open: ({ storage, find }) => ({
      extend: (leases) =>
        storage.extend(
          leases.map((lease) => {
            const job = find(lease)
            return job?.state === 'processing' ? { ...lease, worker: job.lease!.worker, attempt: job.attempt } : lease
          }),
        ),
    }),
  },
  {
    name: 'extend after the end',
    breaks: 'a heartbeat is told that all is well though its job has ended',
    caughtBy: 'extend: a holder whose job was completed by another is told already_completed, and nothing is extended',
    open: ({ storage, now }) => ({
      extend: async (leases) =>
        (await storage.extend(leases)).map((verdict, index): LeaseVerdict =>
          verdict.verdict === 'already_completed'
            ? { verdict: 'extended', until: now() + leases[index]!.leaseMs }
            : verdict,
        ),
    }),
  },
  {
    name: 'extend forgets',
    breaks: 'a lease is told extended, and ends when it would have',
    caughtBy: 'extend: an extended job is not taken back, by claim or by recover',
    open: ({ storage, find }) => ({
      extend: async (leases) => {
        const before = leases.map((lease) => [find(lease), find(lease)?.lease] as const)
        const verdicts = await storage.extend(leases)
        for (const [job, held] of before) if (job?.state === 'processing') job.lease = held!
        return verdicts
      },
    }),
  },
  {
    name: 'settle refused after its lease',
    breaks: 'a sole holder that is late is refused: finished work runs again, in a loop',
    caughtBy: 'settle: completed of a holder whose lease ran out, and whose job nobody took, is accepted',
    open: (sound) =>
      settling(sound, (outcome) => {
        const job = sound.find(outcome)
        const late = job?.state === 'processing' && job.lease!.until <= sound.now()
        return late && !('chain' in outcome) ? { ...outcome, worker: 'nobody' } : outcome
      }),
  },
  {
    name: 'repeated settle refused',
    breaks: 'a settle whose answer was lost is told taken_by_another_worker when it is repeated',
    caughtBy: 'settle: the repeat of completed is answered as the first, and done once',
    open: (sound) => {
      const settled = new Set<string>()
      return settling(
        sound,
        (outcome) => outcome,
        (verdict, outcome) => {
          if (settled.has(nameOf(outcome))) return { verdict: 'taken_by_another_worker' }
          if (verdict.verdict === 'settled') settled.add(nameOf(outcome))
          return verdict
        },
      )
    },
  },
  {
    name: 'shifted verdicts of settle',
    breaks: 'in a batch everybody is told the verdict of the neighbour',
    caughtBy: 'settle: verdicts come in the order of the outcomes, each its own',
    open: ({ storage }) => ({ settle: async (outcomes) => shifted(await storage.settle(outcomes)) }),
  },
  {
    name: 'shifted verdicts of add',
    breaks: 'in a batch everybody is told the verdict of the neighbour',
    caughtBy: 'add: the verdict names the job that was added, and its state',
    open: ({ storage }) => ({ add: async (jobs) => shifted(await storage.add(jobs)) }),
  },
  {
    name: 'repeated add makes a second job',
    breaks:
      'the token of an add is not kept: its repeat is a duplicate of itself, or a new job once the first has failed',
    caughtBy: 'add: the repeat of an add whose job has failed is told added, and changes nothing',
    open: ({ storage, find }) => ({
      add: (jobs) =>
        storage.add(
          jobs.map((job) => (find(job)?.token === job.token ? { ...job, token: `${job.token}, again` } : job)),
        ),
    }),
  },
]

const fenceOf = (outcome: Outcome): unknown => ('chain' in outcome ? outcome.token : [outcome.worker, outcome.attempt])
const nameOf = (outcome: Outcome): string => JSON.stringify([outcome.type, outcome.id, fenceOf(outcome)])
const shifted = <T>(verdicts: readonly T[]): T[] => [...verdicts.slice(1), ...verdicts.slice(0, 1)]
