// The worker processes of the case limits: they start together, and each records the runs of its handlers.

import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Limit } from './limited.ts'
import type { Run } from './records.ts'
import type { Command, Report } from './worker-process.ts'

type ReportOf<K extends Report['kind']> = Extract<Report, { kind: K }>

export class Workers {
  readonly #processes: readonly ChildProcess[]
  readonly #failing = Promise.withResolvers<never>()

  constructor(count: number) {
    // Every wait rejects with it.
    this.#failing.promise.catch(() => {})
    const file = fileURLToPath(new URL('worker-process.ts', import.meta.url))
    this.#processes = Array.from({ length: count }, () => fork(file, { execArgv: process.execArgv }))
    for (const each of this.#processes) {
      each.on('message', (report: Report) => report.kind === 'failed' && this.#fail(report.reason))
      each.on('exit', (code, signal) => this.#fail(`ended with ${signal ?? code}`))
    }
  }

  /** Connects every process, which takes its time before the measurement. */
  async open(file: string, place: string, limit: Limit): Promise<void> {
    await this.#ask({ kind: 'open', file, place, limit }, 'opened')
  }

  /** Resolves when the processes have run so many jobs, or the time is over. */
  async work(handlerMs: number, jobs: number, seconds: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, seconds * 1_000)
    const counts = this.#processes.map(() => 0)
    for (const [index, each] of this.#processes.entries()) {
      each.on('message', (report: Report) => {
        if (report.kind !== 'done') return
        counts[index] = report.runs
        if (counts.reduce((sum, count) => sum + count, 0) >= jobs) resolve()
      })
      send(each, { kind: 'work', handlerMs })
    }
    await Promise.race([promise, this.#failing.promise])
    clearTimeout(timer)
  }

  /** Lets the running handlers end. Resolves with the runs of all processes. */
  async stop(): Promise<readonly Run[]> {
    const reports = await this.#ask({ kind: 'stop' }, 'stopped')
    for (const each of this.#processes) each.removeAllListeners('exit').disconnect()
    return reports.flatMap(({ runs }) => runs)
  }

  async #ask<K extends Report['kind']>(command: Command, answer: K): Promise<ReportOf<K>[]> {
    const answers = this.#processes.map(async (each) => {
      const { promise, resolve } = Promise.withResolvers<ReportOf<K>>()
      each.on('message', (report: Report) => report.kind === answer && resolve(report as ReportOf<K>))
      send(each, command)
      return Promise.race([promise, this.#failing.promise])
    })
    return Promise.all(answers)
  }

  #fail(reason: string): void {
    this.#failing.reject(new Error(`worker process: ${reason}`))
  }
}

function send(to: ChildProcess, command: Command): void {
  to.send(command)
}
