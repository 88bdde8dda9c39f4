// Records the claims and verdicts of a worker: the fence of each run, its outcome, and the heartbeats that got no answer. A job that is
// handed over comes with a hint, not with a claim's answer: it is recorded as one, if this worker offered the slot.

import type { Storage } from 'holdfast'
import {
  claimWorker,
  type Claim,
  type ClaimRequest,
  type ClaimedJob,
  type Extension,
  handedLeaseMs,
  type LeaseVerdict,
  offeringWorker,
  type Outcome,
  parseType,
  type SettleVerdict,
  type Signal,
  type Topic,
} from 'holdfast/storage'
import { wrapStorage } from './wrap-storage.ts'
import { fenceOf } from './entries.ts'
import { queueNames, typeOf } from './jobs.ts'
import { limitsOf } from './limits.ts'
import { type Log, machineMs } from './log.ts'

interface Claimed {
  readonly fence: string
  /** Time of the storage's clock. */
  readonly runAt: number
  readonly claimedAt: number
}

type OnSignal = (signal: Signal) => void

/** The queue whose jobs have priorities: of it every claim is logged, of the others those that found jobs. */
const [, ranked] = queueNames

const limitedTypes: readonly string[] = (Object.keys(limitsOf) as (keyof typeof limitsOf)[]).map(typeOf)
const isLimited = ({ type }: Extension): boolean => limitedTypes.includes(type)

/** The engine measures the time of a call from a moment before, with a clock of whole milliseconds. */
const toleranceMs = 20

export class ClaimRecorder {
  readonly #log: Log
  readonly #claims = new Map<string, Claimed>()
  /** When the claims that offered slots were sent, by their worker. */
  readonly #offers = new Map<string, number>()

  constructor(log: Log) {
    this.#log = log
  }

  wrap(storage: Storage): Storage {
    return wrapStorage(storage, async (verb, args, call) => {
      if (verb === 'claim') return this.#claim(args[0] as ClaimRequest, call as () => Promise<Claim>)
      if (verb === 'extend') {
        const { callTimeoutMs } = storage.settings
        return this.#extend(args[0] as readonly Extension[], callTimeoutMs, call as () => Promise<LeaseVerdict[]>)
      }
      if (verb === 'listen') return this.#listen(storage, args[0] as readonly Topic[], args[1] as OnSignal)
      const answer = await call()
      if (verb === 'settle') this.#note(args[0] as readonly Outcome[], answer as readonly SettleVerdict[])
      return answer
    })
  }

  /** The fence of a job's current run. Read it at the start of the handler: a later claim has another fence. */
  claimOf(id: string): Claimed {
    return this.#claims.get(id)!
  }

  async #claim({ worker, types, offer, outcomes = [] }: ClaimRequest, call: () => Promise<Claim>): Promise<Claim> {
    const sentAt = machineMs()
    const type = parseType(types[0]!.type).name
    const leaseUntil = sentAt + types[0]!.leaseMs
    if (offer) this.#offers.set(claimWorker(worker), sentAt)
    let claim: Claim
    try {
      claim = await call()
    } catch (error) {
      if (type === ranked) this.#log.write({ what: 'claimFailed', type, sentAt })
      throw error
    }
    const { jobs, settled } = claim
    const runs = jobs.map((job) => ({ id: job.id, fence: fenceOf(job) }))
    if (runs.length > 0 || type === ranked) this.#log.write({ what: 'claimed', type, sentAt, leaseUntil, runs })
    this.#note(outcomes, settled)
    for (const job of jobs) this.#keep(job)
    return claim
  }

  /** The engine starts a job within the call of its listener: it is recorded before. */
  async #listen(storage: Storage, topics: readonly Topic[], onSignal: OnSignal): Promise<unknown> {
    return storage.listen(topics, (signal) => {
      if (signal.handed) this.#noteHanded(signal.handed)
      onSignal(signal)
    })
  }

  #noteHanded(job: ClaimedJob): void {
    const sentAt = this.#offers.get(offeringWorker(job.worker))
    if (sentAt === undefined) return
    const runs = [{ id: job.id, fence: fenceOf(job) }]
    const type = parseType(job.type).name
    this.#log.write({ what: 'claimed', type, sentAt, leaseUntil: sentAt + handedLeaseMs, runs, handed: true })
    // A hint may come so late that this process has the job by a later claim.
    const known = this.#claims.get(job.id)
    if (!known || known.claimedAt <= job.startedAt) this.#keep(job)
  }

  #keep(job: ClaimedJob): void {
    this.#claims.set(job.id, { fence: fenceOf(job), runAt: job.runAt, claimedAt: job.startedAt })
  }

  async #extend(
    leases: readonly Extension[],
    callTimeoutMs: number,
    call: () => Promise<LeaseVerdict[]>,
  ): Promise<LeaseVerdict[]> {
    const sentAt = machineMs()
    try {
      const verdicts = await call()
      // For the engine there was no answer in time: after a stop of the process, its timer comes before what the socket has.
      if (machineMs() - sentAt >= callTimeoutMs - toleranceMs) this.#noteUnanswered(leases)
      leases.forEach((lease, index) => {
        if (!isLimited(lease) || verdicts[index]!.verdict !== 'extended') return
        this.#log.write({ what: 'extended', id: lease.id, fence: fenceOf(lease), leaseUntil: sentAt + lease.leaseMs })
      })
      return verdicts
    } catch (error) {
      this.#noteUnanswered(leases)
      throw error
    }
  }

  #noteUnanswered(leases: readonly Extension[]): void {
    for (const lease of leases) {
      if (lease.log) this.#log.write({ what: 'reportUnanswered', id: lease.id, fence: fenceOf(lease) })
    }
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
