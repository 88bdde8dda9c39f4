// Replays a trace of the model on the memory driver: every verdict and every record must be as in the model. Each job has a storage and
// a clock of its own, so that the lease of one can end alone.

import { MemoryStorage } from 'holdfast'
import { aheadWorker, type Outcome } from 'holdfast/storage'
import { fakeClock } from 'holdfast/testing'
import type { Step } from './moves.ts'
import { type Fence, firstState, type Job } from './state.ts'
import { type StorageCall, soundRules } from './storage-rules.ts'

const leaseMs = 1_000
/** Of a heartbeat, longer than any lease ahead: by the length of the lease the storage knows that a job that was held ahead was started. */
const extendedMs = 3_000
const ref = { type: 'job', id: 'a' }
const retention = { completedMs: 1e9, failedMs: 1e9, cancelledMs: 1e9 }

function nameOf({ worker, start, claim, ahead }: Omit<Fence, 'attempt'>, number: number): string {
  const name = `${worker}/${start}/${claim}/${number}`
  return ahead ? aheadWorker(name) : name
}

/** One job: its calls can be made again on an empty storage, which is how a failover forgets the last one. */
class ReplayedJob {
  #storage!: MemoryStorage
  #clock!: ReturnType<typeof fakeClock>
  #lives = 0
  readonly #done: (() => Promise<unknown>)[] = []
  /** The model uses a number again once nothing refers to it. Names here never repeat. */
  readonly #names = new Map<string, string>()
  #claims = 0

  async reset(): Promise<void> {
    this.#clock = fakeClock()
    this.#storage = new MemoryStorage({ clock: this.#clock })
    this.#lives = 0
    await this.#add()
    for (const again of this.#done) await again()
  }

  async leaseEnds(): Promise<void> {
    const pass = (): Promise<void> => this.#clock.advance(extendedMs)
    this.#done.push(pass)
    await pass()
  }

  /** @returns the verdict in the words of the model */
  async call(call: StorageCall, claimed: Fence | undefined, isForgotten: boolean): Promise<string> {
    if (claimed) this.#names.set(JSON.stringify(claimed), nameOf(claimed, ++this.#claims))
    const worker =
      'fence' in call ? (this.#names.get(JSON.stringify(claimed ?? call.fence)) ?? `none/${++this.#claims}`) : ''
    const make = (): Promise<string> => this.#make(call, worker)
    const verdict = await make()
    if (isForgotten) await this.reset()
    else this.#done.push(make)
    return verdict
  }

  async record(): Promise<Pick<Job, 'state' | 'attempt' | 'failures'>> {
    const [record] = await this.#storage.get([ref])
    const { state, attempt, failures } = record!
    const known =
      state === 'processing' ? 'held' : ['completed', 'failed', 'cancelled'].includes(state) ? state : 'waiting'
    return { state: known as Job['state'], attempt, failures }
  }

  async #add(): Promise<string> {
    const job = { ...ref, token: `token-${++this.#lives}`, maxAttempts: soundRules.maxAttempts, retention }
    return (await this.#storage.add([job]))[0]!.verdict
  }

  async #make(call: StorageCall, worker: string): Promise<string> {
    const storage = this.#storage
    switch (call.verb) {
      case 'claim': {
        const { jobs } = await storage.claim({ worker, slots: 1, types: [{ type: ref.type, leaseMs }] })
        return jobs.length === 1 ? 'claimed' : 'nothing'
      }
      case 'extend':
        return (await storage.extend([{ ...ref, worker, attempt: call.fence.attempt, leaseMs: extendedMs }]))[0]!
          .verdict
      case 'settle': {
        const outcome = { ...ref, worker, attempt: call.fence.attempt, kind: call.outcome, delayMs: 0 }
        if (call.outcome !== 'retry') delete (outcome as Partial<typeof outcome>).delayMs
        return (await storage.settle([outcome as Outcome]))[0]!.verdict
      }
      case 'recover':
        return (await storage.recover({ types: [ref.type], limit: 1 })).length === 1 ? 'recovered' : 'nothing'
      case 'cancel':
        return (await storage.cancel([ref], { abort: call.mode === 'abort', force: call.mode === 'force' }))[0]!.verdict
      case 'revive':
        return (await storage.revive([ref]))[0]!.verdict
      case 'add':
        return this.#add()
    }
  }
}

/** @returns what differs, in sentences */
export async function replay(trace: readonly Step[], jobs: number): Promise<string[]> {
  const replayed = Array.from({ length: jobs }, () => new ReplayedJob())
  for (const job of replayed) await job.reset()
  const found: string[] = []
  let before = firstState(jobs, 1).jobs
  for (const [index, { move, next, verdict }] of trace.entries()) {
    if (move.what === 'leaseEnds') await replayed[move.job]!.leaseEnds()
    if (move.what === 'call') {
      const { call } = move
      const claimed = call.verb === 'claim' ? { ...call.fence, attempt: before[move.job]!.attempt + 1 } : undefined
      const told = await replayed[move.job]!.call(call, claimed, move.fate === 'forgotten')
      if (told !== verdict) found.push(`step ${index + 1}, ${call.verb}: the model says ${verdict}, the driver ${told}`)
      const { state, attempt, failures } = next.jobs[move.job]!
      const [model, driver] = [{ state, attempt, failures }, await replayed[move.job]!.record()].map((one) =>
        JSON.stringify(one),
      )
      if (model !== driver) found.push(`step ${index + 1}, ${call.verb}: the model has ${model}, the driver ${driver}`)
    }
    before = next.jobs
  }
  return found
}
