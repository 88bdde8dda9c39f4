// Broken attempts, ends, cancels and chains.

import { isWaiting } from '../../../src/storage/rules/job/states.ts'
import { unblock } from '../../../src/storage/rules/job/finish.ts'
import { MemoryMove } from '../../../src/storage/memory/move.ts'
import type { Outcome, Storage } from '../../../src/storage/storage.ts'
import { type BrokenDriver, set, settling, type Sound, without } from './driver.ts'

/** Changes the data before leases are taken back, and restores it afterwards. */
function takingBack({ storage }: Sound, before: () => () => void): Pick<Storage, 'claim' | 'recover'> {
  const around = <T>(call: () => T): T => {
    const undo = before()
    const answer = call()
    undo()
    return answer
  }
  return {
    claim: (request) =>
      around(() => storage.claim({ ...request, types: request.types.map((type) => without(type, 'maxAttempts')) })),
    recover: (request) => around(() => storage.recover(request)),
  }
}

export const brokenAttempts: readonly BrokenDriver[] = [
  {
    name: 'lost lease not counted',
    breaks: 'a job that kills its worker runs again forever',
    caughtBy:
      'claim: a lost lease is taken back and reported, and its job runs again with one more attempt and failure',
    open: ({ storage, jobs, now }) => {
      const discount = (olderThanMs = Infinity): void => {
        for (const job of jobs()) {
          const lost = job.lease!.until <= now() || now() - job.lease!.startedAt > olderThanMs
          if (job.state === 'processing' && lost) job.failures--
        }
      }
      return {
        claim: (request) => {
          discount()
          return storage.claim(request)
        },
        recover: (request) => {
          discount(request.olderThanMs)
          return storage.recover(request)
        },
      }
    },
  },
  {
    name: 'lost lease ahead counted',
    breaks: 'a job that waited in a worker that died fails without having run',
    caughtBy: 'claim: a lease ahead that is lost costs no attempt, is reported, and the job keeps its place',
    open: ({ storage, jobs }) => ({
      claim: (request) => {
        for (const { lease } of jobs()) if (lease) set(lease, { worker: lease.worker.replace('+ahead', '') })
        return storage.claim(request)
      },
    }),
  },
  {
    name: 'lost lease ahead forgotten',
    breaks: 'a job that ends its process whenever it runs is claimed ahead, and runs, forever',
    caughtBy:
      'claim: after a lost lease ahead a job is claimed for a free slot only, and what is behind it waits with it',
    open: ({ storage, jobs }) => ({
      claim: (request) => {
        for (const job of jobs()) {
          const kept = job.attempts?.filter(({ outcome }) => outcome !== 'stalled')
          if (job.attempts) set(job, { attempts: kept!.length > 0 ? kept : undefined })
        }
        return storage.claim(request)
      },
    }),
  },
  {
    name: 'exhausted job run again',
    breaks: 'a job whose attempts are used up by lost leases is claimed once more',
    caughtBy: 'claim: a job whose last attempt lost its lease fails as stalled and is reported instead of run',
    open: (sound) =>
      takingBack(sound, () => {
        const bounds = sound.jobs().map((job) => [job, job.maxAttempts] as const)
        for (const [job] of bounds) set(job, { maxAttempts: undefined })
        return () => {
          for (const [job, maxAttempts] of bounds) set(job, { maxAttempts })
        }
      }),
  },
  {
    name: 'recover ignores the age',
    breaks: 'an attempt that runs too long and extends its lease is never taken back',
    caughtBy: 'recover: an attempt above the age limit is taken back from a live holder whatever its lease',
    open: ({ storage }) => ({ recover: ({ types, limit }) => storage.recover({ types, limit }) }),
  },
  {
    name: 'release costs a failure',
    breaks: 'a worker that stops uses up the attempts of its jobs',
    caughtBy: 'settle: a release without a time leaves the job queued with its runAt and costs no attempt',
    open: (sound) =>
      settling(
        sound,
        (outcome) => outcome,
        (verdict, outcome) => {
          const job = sound.find(outcome)
          if (verdict.verdict === 'settled' && outcome.kind === 'released' && job && isWaiting(job.state))
            job.failures++
          return verdict
        },
      ),
  },
  {
    name: 'cancel ends what runs',
    breaks: 'a plain cancel takes a job from the worker that runs it',
    caughtBy: 'cancel: a plain cancel does not affect a running job, which completes',
    open: ({ storage }) => ({ cancel: (refs, options) => storage.cancel(refs, { ...options, force: true }) }),
  },
  {
    name: 'cancelled job is retried',
    breaks: 'a job that was asked to stop and fails is retried',
    caughtBy: 'cancel: a job that was asked to stop and ends by a retry is cancelled',
    open: (sound) =>
      settling(sound, (outcome) => {
        const job = sound.find(outcome)
        if (job?.cancelling && (outcome.kind === 'retry' || outcome.kind === 'released')) job.cancelling = false
        return outcome
      }),
  },
  {
    name: 'revive keeps the failures',
    breaks: 'a revived job has no attempt left',
    caughtBy: 'revive: a revived job has all its attempts left, and attempt numbers keep growing',
    open: ({ storage, find }) => ({
      revive: async (refs, options) => {
        const before = refs.map((ref) => find(ref)?.failures)
        const verdicts = await storage.revive(refs, { ...options, tx: undefined })
        for (const [index, { verdict }] of verdicts.entries()) {
          if (verdict === 'revived') find(refs[index]!)!.failures = before[index]!
        }
        return verdicts
      },
    }),
  },
  {
    name: 'lost unblock',
    breaks: 'a job whose blockers have completed never runs',
    caughtBy: 'add: two jobs may wait for one blocker by position, and both run after it',
    open: (sound) =>
      settling(
        sound,
        (outcome) => outcome,
        (verdict) => {
          if (verdict.verdict !== 'settled') return verdict
          void sound.storage.revive(verdict.unblocked, { runAt: 8_640_000_000_000_000 })
          return { ...verdict, unblocked: [] }
        },
      ),
  },
  {
    name: 'unblocked by the first blocker',
    breaks: 'a job runs when one of its blockers has completed, not all',
    caughtBy: 'settle: the settle of its last blocker unblocks a job, which has the results of all blockers',
    open: (sound) =>
      settling(
        sound,
        (outcome) => outcome,
        (verdict, outcome) => {
          const chain = sound.find(outcome)?.chain
          if (verdict.verdict !== 'settled' || chain?.tail.state !== 'completed') return verdict
          for (const job of chain.dependents ?? []) {
            if (job.state === 'blocked') unblock(new MemoryMove(sound.data(), sound.now()), job)
          }
          return verdict
        },
      ),
  },
  {
    name: 'conflict after the write',
    breaks: 'the outcome is written before its continuation is refused: the chain ends without a tail',
    caughtBy: 'settle: a continuation whose blocker is unknown is a conflict that names it, and the job is still held',
    open: (sound) => ({
      settle: async (outcomes) => {
        const verdicts = await sound.storage.settle(outcomes)
        for (const [index, { verdict }] of verdicts.entries()) {
          const { type, id, ...rest } = outcomes[index]!
          const fence =
            'chain' in rest ? { chain: rest.chain, token: rest.token } : { worker: rest.worker, attempt: rest.attempt }
          if (verdict === 'conflict') await sound.storage.settle([{ type, id, ...fence, kind: 'completed' } as Outcome])
        }
        return verdicts
      },
    }),
  },
  {
    name: 'continuation in a move of its own',
    breaks: 'a job is completed, and its continuation is added afterwards, as a chain of its own',
    caughtBy: 'settle: a continued job is completed without a result, and its successor is the tail of its chain',
    open: ({ storage }) => ({
      settle: async (outcomes) => {
        const plain = outcomes.map((outcome): Outcome => {
          if (outcome.kind !== 'continued') return outcome
          const { next: _, ...rest } = outcome
          return { ...rest, kind: 'completed' } as Outcome
        })
        const verdicts = await storage.settle(plain)
        for (const [index, verdict] of verdicts.entries()) {
          const outcome = outcomes[index]!
          if (verdict.verdict === 'settled' && outcome.kind === 'continued') await storage.add([outcome.next])
        }
        return verdicts
      },
    }),
  },
]
