// What a run for volume says of each job, in a few bytes per job: logs and records are read as streams, and need not fit into memory.
//
// Attempts only grow within a life, and each job has one life here. So no times are compared: a completion was accepted wrongly if
// any process was given a later attempt of the job; a fence repeats if an attempt was given twice.

import type { VolumeEntry } from './volume-log.ts'

export interface VolumeRecord {
  readonly id: string
  readonly job: number
  readonly state: string
  readonly attempt: number
  /** The attempt that made the result. */
  readonly result: number | undefined
}

/** Violations by name, each with its first sentences. */
export interface VolumeViolations {
  readonly counts: Readonly<Record<string, number>>
  readonly sentences: readonly string[]
}

export interface Interrupted {
  readonly job: number
  readonly attempt: number
  readonly process: string
}

interface LaterClaim {
  readonly attempt: number
  readonly at: number
}

const mostSentences = 20

export class VolumeHistory {
  readonly #acked: Uint8Array
  readonly #asked: Uint8Array
  /** Number of processes that were told that their completion was recorded. */
  readonly #told: Uint8Array
  readonly #toldAttempt: Uint16Array
  readonly #latest: Uint16Array
  readonly #claimed: Uint8Array
  readonly #seen: Uint8Array
  /** Claims after the first attempt: few. */
  readonly #later = new Map<number, LaterClaim[]>()
  /** Claims without an outcome, of the process that wrote the log being read. */
  readonly #open = new Map<number, number>()
  readonly #interrupted: Interrupted[] = []
  readonly #counts: Record<string, number> = {}
  readonly #sentences: string[] = []
  #process = ''
  runs = 0
  refused = 0

  constructor(jobs: number) {
    this.#acked = new Uint8Array(jobs)
    this.#asked = new Uint8Array(jobs)
    this.#told = new Uint8Array(jobs)
    this.#toldAttempt = new Uint16Array(jobs)
    this.#latest = new Uint16Array(jobs)
    this.#claimed = new Uint8Array(jobs)
    this.#seen = new Uint8Array(jobs)
  }

  /** The entries of one log after the other, in any order of logs. */
  add(entry: VolumeEntry): void {
    if (entry.what === 'process') return this.#begin(entry.process)
    if ('from' in entry) {
      const marks = entry.what === 'asked' ? this.#asked : this.#acked
      return void marks.fill(1, entry.from, entry.to)
    }
    for (const { job, attempt } of entry.runs) {
      if (entry.what === 'claimed') this.#claim(job, attempt, entry.at)
      else this.#end(entry.what, job, attempt)
    }
  }

  /** At the end of each log. */
  endLog(): void {
    this.#begin('')
  }

  /** The records of the storage, in any order. */
  addRecord({ id, job, state, attempt, result }: VolumeRecord): void {
    if (!(job < this.#seen.length) || !this.#asked[job]) return this.#fail('invented', `${id} was never asked for`)
    if (this.#seen[job]) return this.#fail('invented', `${id} has two records`)
    this.#seen[job] = 1
    if (state !== 'completed') return this.#fail('live', `${id} is ${state} after the drain, at attempt ${attempt}`)
    if (result !== attempt) this.#fail('stale', `${id}: the result is of attempt ${result}, the record of ${attempt}`)
    const told = this.#toldAttempt[job]!
    if (told > 0 && told !== attempt) {
      this.#fail('doubleRecorded', `${id}: attempt ${told} was told that it completed it, the record has ${attempt}`)
    }
    const latest = this.#latest[job]!
    if (latest > attempt) this.#fail('stale', `${id}: attempt ${attempt} completed it, and ${latest} had been given`)
  }

  /** After all logs and records. */
  violations(): VolumeViolations {
    for (let job = 0; job < this.#seen.length; job++) {
      if (this.#acked[job] && !this.#seen[job]) this.#fail('lost', `v${job} was acknowledged and is gone`)
      if (!this.#acked[job])
        this.#fail('unresolved', `v${job} was ${this.#asked[job] ? 'asked for' : 'never asked for'}`)
    }
    return { counts: this.#counts, sentences: this.#sentences }
  }

  get acked(): number {
    return this.#acked.reduce((sum, one) => sum + one, 0)
  }

  /** Claims without an outcome at the end of their process, each with the next claim of the job. */
  get interrupted(): readonly { readonly run: Interrupted; readonly next: LaterClaim | undefined }[] {
    return this.#interrupted.map((run) => {
      const later = this.#later.get(run.job)?.filter(({ attempt }) => attempt > run.attempt) ?? []
      return { run, next: later.toSorted((one, other) => one.attempt - other.attempt)[0] }
    })
  }

  #begin(process: string): void {
    for (const [job, attempt] of this.#open) this.#interrupted.push({ job, attempt, process: this.#process })
    this.#open.clear()
    this.#process = process
  }

  #claim(job: number, attempt: number, at: number): void {
    this.runs++
    if (!(job < this.#seen.length)) return this.#fail('invented', `a claim has job ${job}`)
    const later = this.#later.get(job) ?? []
    if (attempt === 1 ? this.#claimed[job] : later.some((claim) => claim.attempt === attempt)) {
      this.#fail('fence', `v${job}: attempt ${attempt} was given twice`)
    }
    if (attempt === 1) this.#claimed[job] = 1
    else this.#later.set(job, [...later, { attempt, at }])
    this.#latest[job] = Math.max(this.#latest[job]!, attempt)
    this.#open.set(job, attempt)
  }

  #end(what: 'completed' | 'retried' | 'refused', job: number, attempt: number): void {
    if (this.#open.get(job) === attempt) this.#open.delete(job)
    if (what === 'refused') this.refused++
    if (what !== 'completed') return
    if (++this.#told[job]! > 1 && this.#toldAttempt[job] !== attempt) {
      this.#fail(
        'doubleRecorded',
        `v${job}: attempts ${this.#toldAttempt[job]} and ${attempt} were told that they completed it`,
      )
    }
    this.#toldAttempt[job] = attempt
  }

  #fail(name: string, sentence: string): void {
    this.#counts[name] = (this.#counts[name] ?? 0) + 1
    if (this.#sentences.length < mostSentences) this.#sentences.push(`${name}: ${sentence}`)
  }
}
