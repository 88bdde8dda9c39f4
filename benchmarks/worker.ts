// A worker for the cases in which somebody else adds: in a process of its own where processes can share the storage, in
// this one where they cannot.

import { fork, type ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Entrant, Session, Settings } from './contender.ts'
import { type Limits, Work } from './load.ts'
import type { Command, Report } from './worker-process.ts'

export interface Order {
  readonly settings: Settings
  readonly concurrency: number
  readonly limits: Limits
}

export interface Working {
  /** So many jobs in all: it is over after the last. */
  expect(jobs: number): void
  /** Rejects if the worker fails, and never resolves: to be raced with what would wait for it in vain. */
  readonly failure: Promise<never>
  over(): Promise<{ readonly completed: number; /** Of the other process, if it is one. */ readonly cpuMs: number }>
  /**
   * To be called after the session of this process is closed. Resolves with the ms from each add to the start of its job.
   * @throws unless each job ran exactly once
   */
  close(): Promise<readonly number[]>
}

/** @param session this process's own, at that place */
export function startWorker(
  contender: Entrant,
  session: Session,
  place: string,
  order: Order,
  onCompleted?: (jobs: number) => void,
): Promise<Working> {
  return contender.isShared
    ? workElsewhere(contender, place, order, onCompleted)
    : workHere(session, order, onCompleted)
}

async function workHere(
  session: Session,
  { concurrency, limits }: Order,
  onCompleted?: (jobs: number) => void,
): Promise<Working> {
  const work = new Work(limits, onCompleted && (() => onCompleted(1)))
  await session.consume(concurrency, work)
  return {
    expect: (jobs) => work.tally.expect(jobs),
    failure: new Promise(() => {}),
    over: async () => ({ completed: await work.tally.over(), cpuMs: 0 }),
    async close() {
      work.tally.verify()
      return work.latencies
    },
  }
}

async function workElsewhere(
  contender: Entrant,
  place: string,
  order: Order,
  onCompleted?: (jobs: number) => void,
): Promise<Working> {
  const other = theOtherProcess()
  other.onCompleted = onCompleted
  const over = other.next('over')
  const opened = other.next('opened')
  other.send({ kind: 'open', file: contender.file, place, ...order })
  await opened
  return {
    expect: (jobs) => other.send({ kind: 'expect', jobs }),
    failure: other.failure,
    over: () => over,
    async close() {
      const closed = other.next('closed')
      other.send({ kind: 'close' })
      return (await closed).latencies
    },
  }
}

/** One for all runs of a measurement, so that the code is compiled there too once it counts. It ends with this process. */
function theOtherProcess(): OtherProcess {
  return (known ??= new OtherProcess())
}

let known: OtherProcess | undefined

type ReportOf<K extends Report['kind']> = Extract<Report, { kind: K }>

class OtherProcess {
  onCompleted: ((jobs: number) => void) | undefined
  readonly #process: ChildProcess
  readonly #awaited = new Map<Report['kind'], (report: Report) => void>()
  readonly #failing = Promise.withResolvers<never>()
  readonly failure = this.#failing.promise

  constructor() {
    // Whoever waits hears of it.
    this.failure.catch(() => {})
    this.#process = fork(fileURLToPath(new URL('worker-process.ts', import.meta.url)), { execArgv: process.execArgv })
    this.#process.on('message', (report) => this.#heed(report as Report))
    this.#process.on('exit', (code, signal) =>
      this.#failing.reject(new Error(`the worker's process ended: ${signal ?? code}`)),
    )
  }

  send(command: Command): void {
    this.#process.send(command)
  }

  next<K extends Report['kind']>(kind: K): Promise<ReportOf<K>> {
    const report = new Promise<Report>((resolve) => this.#awaited.set(kind, resolve))
    const next = Promise.race([report, this.failure]) as Promise<ReportOf<K>>
    next.catch(() => {})
    return next
  }

  #heed(report: Report): void {
    if (report.kind === 'completed') this.onCompleted?.(report.jobs)
    else if (report.kind === 'failed') this.#failing.reject(new Error(report.reason))
    else this.#awaited.get(report.kind)?.(report)
  }
}
