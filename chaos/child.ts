// What workers and producers share: their name, log and storage, and that they end with the supervisor.

import { writeSync } from 'node:fs'
import { flushCompileCache } from 'node:module'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Storage } from 'holdfast'
import { Crash } from './crash.ts'
import { driverNamed } from './drivers.ts'
import { type Log, openLog } from './log.ts'
import { plant } from './plant.ts'
import { parsePoint, type Point, type Role } from './points.ts'
import { type Random, randomOf } from './random.ts'
import { FirstAnswers } from './first-answers.ts'

/** The configuration from the supervisor, as JSON in the first argument. */
export interface ChildConfig {
  readonly role: Role
  /** A replacement gets the slot of the process that died. */
  readonly slot: number
  readonly life: number
  readonly driver: string
  readonly directory: string
  /** Url of the server through this slot's proxy. */
  readonly url?: string
  readonly seed: number
  readonly leaseMs: number
  /** Jobs per second, for a producer. */
  readonly rate: number
  /** Whether jobs of kind `poison` end their process. */
  readonly poison: boolean
  /** A planted defect: see plant.ts. */
  readonly plant?: string
  /** Of a run for volume. */
  readonly volume?: VolumeConfig
}

export interface VolumeConfig {
  readonly jobs: number
  readonly producers: number
  /** Slots of a worker. */
  readonly concurrency: number
  /** Another library instead of ours, which is installed in the folder. */
  readonly peer?: { readonly name: string; readonly folder: string }
}

export interface Child extends ChildConfig {
  readonly name: string
  readonly log: Log
  readonly crash: Crash
  readonly point: Point | undefined
  readonly storage: Storage
  readonly random: Random
  /** Writes down that the process is ready, and tells the supervisor. */
  ready(): void
  /** Resolves when the supervisor asks this process to finish. */
  readonly finish: Promise<void>
}

/** Exit code of a process with an uncaught error. */
const unhandledExitCode = 70

export const nameOfChild = ({ role, slot, life }: { role: Role; slot: number; life: number }): string =>
  `${role}-${slot}.${life}`

/** One log per slot: a producer reads which calls of its predecessors had no answer. */
export const logFile = (directory: string, role: Role, slot: number): string =>
  join(directory, 'logs', `${role}-${slot}.log`)

export async function startChild(): Promise<Child> {
  const config = JSON.parse(process.argv[2]!) as ChildConfig
  const { role, slot, seed, driver, directory, url } = config
  const name = nameOfChild(config)
  const log = openLog(logFile(directory, role, slot), name)
  watchUnhandled(log)
  const firstAnswers = new FirstAnswers(log)
  const finish = watchSupervisor(log, firstAnswers)
  const point = process.env.HOLDFAST_CRASH ? parsePoint(process.env.HOLDFAST_CRASH) : undefined
  const crash = new Crash(point, log)
  const storage = crash.wrap(firstAnswers.wrap(plant(await driverNamed(driver).open(directory, url), config.plant)))
  const ready = (): void => {
    log.write({ what: 'ready' })
    // The supervisor reads it.
    writeSync(1, 'ready\n')
    // Flush the compile cache now, for later processes: a killed process cannot do it at its end.
    flushCompileCache()
  }
  return { ...config, name, log, crash, point, storage, ready, finish, random: randomOf(seed, name) }
}

function watchUnhandled(log: Log): void {
  const end = (error: unknown): never => {
    log.write({ what: 'unhandled', message: error instanceof Error ? (error.stack ?? error.message) : String(error) })
    process.exit(unhandledExitCode)
  }
  process.on('uncaughtException', end)
  process.on('unhandledRejection', end)
}

/** Reads `finish` or `mark 7` from the supervisor's pipe. When the pipe closes, the supervisor is gone and this process exits. */
function watchSupervisor(log: Log, firstAnswers: FirstAnswers): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const lines = createInterface({ input: process.stdin })
  lines.on('line', (line) => {
    if (line.startsWith('mark ')) return firstAnswers.mark(Number(line.slice('mark '.length)))
    log.write({ what: 'finishing' })
    resolve()
  })
  lines.on('close', () => process.kill(process.pid, 'SIGKILL'))
  return promise
}

/** For 'error' listeners: errors are grouped by their message without numbers. */
export function noteError(log: Log): (error: Error) => void {
  return (error) => log.write({ what: 'error', message: error.message.replaceAll(/\d+/g, '…').slice(0, 200) })
}

export const sleep = (ms: number): Promise<void> => new Promise((resolve) => void setTimeout(resolve, ms))

/** Repeats the work until it succeeds: a storage may be busy or away at any time. */
export async function retryUntilDone(log: Log, work: () => Promise<unknown>): Promise<void> {
  for (;;) {
    try {
      await work()
      return
    } catch (error) {
      noteError(log)(error as Error)
      await sleep(200)
    }
  }
}
