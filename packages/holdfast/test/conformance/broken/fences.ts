// Fences, verdicts and repeats.

import type { LeaseVerdict, Outcome } from '../../../src/storage/storage.ts'
import { type BrokenDriver, settling, type Sound } from './driver.ts'

/** Replaces the fence of an outcome by the one in force if it is close enough. */
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
    breaks: 'settle compares only the id: a late worker ends the attempt of another',
    caughtBy:
      'settle: completed by a holder whose job is held by another answers taken_by_another_worker and changes nothing',
    open: (sound) =>
      settling(
        sound,
        trusting(sound, () => true),
      ),
  },
  {
    name: 'worker-only fence',
    breaks: 'settle compares the worker and ignores the attempt',
    caughtBy:
      'settle: completed by a holder whose worker matches but whose attempt is older answers taken_by_another_worker and changes nothing',
    open: (sound) =>
      settling(
        sound,
        trusting(sound, (given, held) => given.worker === held.worker),
      ),
  },
  {
    name: 'attempt-only fence',
    breaks:
      'settle compares the attempt and ignores the worker: the first attempt of an earlier life ends that of the next',
    caughtBy:
      'settle: completed by a holder whose attempt matches but whose worker does not answers taken_by_another_worker and changes nothing',
    open: (sound) =>
      settling(
        sound,
        trusting(sound, (given, held) => given.attempt === held.attempt),
      ),
  },
  {
    name: 'no fence on extend',
    breaks: 'a late worker extends the lease of another',
    caughtBy: 'extend: a holder whose job is held by another gets taken_by_another_worker, and nothing is extended',
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
    breaks: 'a heartbeat answers extended although its job has ended',
    caughtBy: 'extend: a holder whose job was completed by another gets already_completed, and nothing is extended',
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
    name: 'extend without effect',
    breaks: 'extend answers extended, but the lease ends when it would have',
    caughtBy: 'extend: an extended job is not taken back by claim or recover',
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
    name: 'lines of a repeat stored again',
    breaks: 'an extend whose reply was lost stores its log lines a second time when it is repeated',
    caughtBy: 'extend: an extend that is repeated after a lost answer stores its lines once',
    open: ({ storage, find }) => ({
      extend: (leases) =>
        storage.extend(
          leases.map(({ log, ...lease }) => {
            const after = find(lease)?.log?.lines.at(-1)?.at ?? 0
            return { ...lease, ...(log && { log: log.map((line, index) => ({ ...line, at: after + 1 + index })) }) }
          }),
        ),
    }),
  },
  {
    name: 'settle refused after its lease',
    breaks: 'a late holder is refused although no other worker took the job: finished work runs again, in a loop',
    caughtBy: 'settle: completed by a holder whose lease ended is accepted if the job was not taken back',
    open: (sound) =>
      settling(sound, (outcome) => {
        const job = sound.find(outcome)
        const late = job?.state === 'processing' && job.lease!.until <= sound.now()
        return late && !('chain' in outcome) ? { ...outcome, worker: 'unknown' } : outcome
      }),
  },
  {
    name: 'repeated settle refused',
    breaks: 'a settle whose reply was lost answers taken_by_another_worker when it is repeated',
    caughtBy: 'settle: a repeated completed gets the first answer and takes effect once',
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
    breaks: 'each item of a batch gets the verdict of its neighbour',
    caughtBy: 'settle: each outcome has its own verdict, in order',
    open: ({ storage }) => ({ settle: async (outcomes) => shifted(await storage.settle(outcomes)) }),
  },
  {
    name: 'shifted verdicts of add',
    breaks: 'each item of a batch gets the verdict of its neighbour',
    caughtBy: 'add: the verdict names the job that was added, and its state',
    open: ({ storage }) => ({ add: async (jobs) => shifted(await storage.add(jobs)) }),
  },
  {
    name: 'repeated add makes a second job',
    breaks:
      'the token of an add is not kept: its repeat is a duplicate of itself, or a new job once the first has failed',
    caughtBy: 'add: a repeated add whose job has failed answers added and changes nothing',
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
