// Records the claims and verdicts of a worker: the fence of each run, and its outcome.

import type { Storage } from 'holdfast'
import type { Claim, Outcome, SettleVerdict } from 'holdfast/storage'
import { wrapStorage } from './wrap-storage.ts'
import { fenceOf } from './entries.ts'
import type { Log } from './log.ts'

interface Claimed {
  readonly fence: string
  /** Time of the storage's clock. */
  readonly runAt: number
  readonly claimedAt: number
}

export class ClaimRecorder {
  readonly #log: Log
  readonly #claims = new Map<string, Claimed>()

  constructor(log: Log) {
    this.#log = log
  }

  wrap(storage: Storage): Storage {
    return wrapStorage(storage, async (verb, args, call) => {
      const answer = await call()
      if (verb === 'settle') this.#note(args[0] as readonly Outcome[], answer as readonly SettleVerdict[])
      if (verb === 'claim') {
        const { jobs, settled } = answer as Claim
        this.#note((args[0] as { outcomes?: readonly Outcome[] }).outcomes ?? [], settled)
        for (const job of jobs) {
          this.#claims.set(job.id, { fence: fenceOf(job), runAt: job.runAt, claimedAt: job.startedAt })
        }
      }
      return answer
    })
  }

  /** The fence of a job's current run. Read it at the start of the handler: a later claim has another fence. */
  claimOf(id: string): Claimed {
    return this.#claims.get(id)!
  }

  #note(outcomes: readonly Outcome[], verdicts: readonly SettleVerdict[]): void {
    outcomes.forEach((outcome, index) => {
      if (!('worker' in outcome)) return
      const { id, kind } = outcome
      const verdict = verdicts[index]!
      const state = verdict.verdict === 'settled' ? verdict.state : undefined
      this.#log.write({ what: 'settled', id, fence: fenceOf(outcome), kind, verdict: verdict.verdict, state })
    })
  }
}
