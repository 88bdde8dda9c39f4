// A worker for cases in which another part adds: in its own process where processes can share the storage, in
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

export interface RunningWorker {
  /** Sets the number of jobs: the work ends after the last. */
  expect(jobs: number): void
  /** Rejects if the worker fails and never resolves: race it with other waits. */
  readonly failure: Promise<never>
  /** CPU of the other process so far, if there is one. */
  cpuMs(): Promise<number>
  over(): Promise<{
    readonly completed: number
    /** CPU of the other process, if there is one. */ readonly cpuMs: number
  }>
  /**
   * Call after the session of this process is closed. Resolves with the ms from each add to the start of its job.
   * @throws unless each job ran exactly once
   */
  close(): Promise<readonly number[]>
}

/** @param session the session of this process at that place */
export function startWorker(
  contender: Entrant,
  session: Session,
  place: string,
  order: Order,
  onCompleted?: (jobs: number) => void,
): Promise<RunningWorker> {
  return contender.isShared
    ? workInChild(contender, place, order, onCompleted)
    : workInProcess(session, order, onCompleted)
}

async function workInProcess(
  session: Session,
  { concurrency, limits }: Order,
  onCompleted?: (jobs: number) => void,
): Promise<RunningWorker> {
  const work = new Work(limits, onCompleted && (() => onCompleted(1)))
  await session.consume(concurrency, work)
  return {
    expect: (jobs) => work.tally.expect(jobs),
    failure: new Promise(() => {}),
    cpuMs: async () => 0,
    over: async () => ({ completed: await work.tally.over(), cpuMs: 0 }),
    async close() {
      work.tally.verify()
      return work.latencies
    },
  }
}

async function workInChild(
  contender: Entrant,
  place: string,
  order: Order,
  onCompleted?: (jobs: number) => void,
): Promise<RunningWorker> {
  const other = sharedWorkerProcess()
  other.onCompleted = onCompleted
  const over = other.next('over')
  const opened = other.next('opened')
  other.send({ kind: 'open', file: contender.file, place, ...order })
  await opened
  return {
    expect: (jobs) => other.send({ kind: 'expect', jobs }),
    failure: other.failure,
    async cpuMs() {
      const asked = other.next('cpu')
      other.send({ kind: 'cpu' })
      return (await asked).cpuMs
    },
    over: () => over,
    async close() {
      const closed = other.next('closed')
      other.send({ kind: 'close' })
      return (await closed).latencies
    },
  }
}

/** One process for all runs of a measurement, so that its code is compiled when it counts. It ends with this process. */
function sharedWorkerProcess(): WorkerProcess {
  return (known ??= new WorkerProcess())
}

let known: WorkerProcess | undefined

type ReportOf<K extends Report['kind']> = Extract<Report, { kind: K }>

export class WorkerProcess {
  onCompleted: ((jobs: number) => void) | undefined
  readonly #process: ChildProcess
  readonly #awaited = new Map<Report['kind'], (report: Report) => void>()
  readonly #failing = Promise.withResolvers<never>()
  readonly failure = this.#failing.promise

  constructor() {
    // Pending waits reject with it.
    this.failure.catch(() => {})
    this.#process = fork(fileURLToPath(new URL('worker-process.ts', import.meta.url)), { execArgv: process.execArgv })
    this.#process.on('message', (report) => this.#heed(report as Report))
    this.#process.on('exit', (code, signal) =>
      this.#failing.reject(new Error(`worker process: ended with ${signal ?? code}`)),
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
