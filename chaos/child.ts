// What workers and producers have in common: who they are, their log, their storage, and that they end with the supervisor.

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
import { Reach } from './reach.ts'

/** What the supervisor hands over, as JSON in the first argument. */
export interface ChildConfig {
  readonly role: Role
  /** A successor has the slot of the one that died. */
  readonly slot: number
  readonly life: number
  readonly driver: string
  readonly directory: string
  /** Of the server, by this slot's own way. */
  readonly url?: string
  readonly seed: number
  readonly leaseMs: number
  /** Of a producer: jobs a second. */
  readonly rate: number
  /** Jobs that end their process do so. */
  readonly poison: boolean
  /** A defect on purpose: see plant.ts. */
  readonly plant?: string
}

export interface Child extends ChildConfig {
  readonly name: string
  readonly log: Log
  readonly crash: Crash
  readonly point: Point | undefined
  readonly storage: Storage
  readonly random: Random
  /** It is at work. */
  ready(): void
  /** Resolves when the supervisor asks this process to end in peace. */
  readonly finish: Promise<void>
}

/** Of a process in which something was thrown that nobody caught. */
const unhandledExitCode = 70

export const nameOfChild = ({ role, slot, life }: { role: Role; slot: number; life: number }): string =>
  `${role}-${slot}.${life}`

/** One log for each slot: a producer reads there what those before it left open. */
export const logFile = (directory: string, role: Role, slot: number): string =>
  join(directory, 'logs', `${role}-${slot}.log`)

export async function startChild(): Promise<Child> {
  const config = JSON.parse(process.argv[2]!) as ChildConfig
  const { role, slot, seed, driver, directory, url } = config
  const name = nameOfChild(config)
  const log = openLog(logFile(directory, role, slot), name)
  watchUnhandled(log)
  const reach = new Reach(log)
  const finish = watchSupervisor(log, reach)
  const point = process.env.HOLDFAST_CRASH ? parsePoint(process.env.HOLDFAST_CRASH) : undefined
  const crash = new Crash(point, log)
  const storage = crash.wrap(reach.wrap(plant(await driverNamed(driver).open(directory, url), config.plant)))
  const ready = (): void => {
    log.write({ what: 'ready' })
    // Now, for those to come: a process that is killed leaves no other chance.
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

/** Its pipe says `finish`, or `mark 7`; and when it closes, the supervisor is gone, and so is the reason to be here. */
function watchSupervisor(log: Log, reach: Reach): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const lines = createInterface({ input: process.stdin })
  lines.on('line', (line) => {
    if (line.startsWith('mark ')) return reach.mark(Number(line.slice('mark '.length)))
    log.write({ what: 'finishing' })
    resolve()
  })
  lines.on('close', () => process.kill(process.pid, 'SIGKILL'))
  return promise
}

/** For 'error' listeners: told apart by what they say, not by whom they are about. */
export function noteError(log: Log): (error: Error) => void {
  return (error) => log.write({ what: 'error', message: error.message.replaceAll(/\d+/g, '…').slice(0, 200) })
}

export const sleep = (ms: number): Promise<void> => new Promise((resolve) => void setTimeout(resolve, ms))

/** Until it works: a storage may be busy or away at any time. */
export async function persistently(log: Log, work: () => Promise<unknown>): Promise<void> {
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
