// One run: starts a receiver and a sender, kills the processes of both at every step of a delivery, and judges the result.

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { programOf } from '../../scripts/test-programs.ts'
import { generateKeyText, nodeListener } from '@holdfast/federation'
import { freePort } from '../../servers/port.ts'
import { randomOf } from '../random.ts'
import { judge, type Verdict } from './judge.ts'
import { serve } from './places.ts'
import { allPoints, type Point, pointNames, type Role, written } from './points.ts'
import { readReceived } from './received.ts'
import type { ReceiverConfig } from './receiver.ts'
import { deliveryType, keysFile, openSender, portOf, type Sender, type SenderConfig } from './sender.ts'

export interface RunOptions {
  readonly profile: SenderConfig['profile']
  readonly place: string
  readonly directory: string
  readonly seed: number
  readonly activities: number
  /** Kills at each point. */
  readonly rounds: number
  /** Worker processes. */
  readonly workers: number
  /** Deliveries at a time, per worker. */
  readonly concurrency: number
  /** Deadline of a request in ms. */
  readonly timeoutMs: number
  /** Wait until upkeep has removed the rows of killed processes: a minute or two. */
  readonly waitsForUpkeep: boolean
  /** A planted defect of the receiver. */
  readonly plant?: string
  readonly print: (line: string) => void
}

export interface RunReport extends Verdict {
  readonly activities: number
  /** Number of kills, by point. */
  readonly kills: Readonly<Record<string, number>>
  /** Deliveries that arrived at the receiver. */
  readonly requests: number
}

/** A run without progress for this long is stuck, in ms. */
const stuckMs = 150_000

const files = {
  producer: programOf(new URL('producer.ts', import.meta.url)),
  worker: programOf(new URL('worker.ts', import.meta.url)),
  receiver: programOf(new URL('receiver.ts', import.meta.url)),
}

export async function runFederation(options: RunOptions): Promise<RunReport> {
  const { directory, profile, place, activities, timeoutMs, concurrency } = options
  mkdirSync(directory, { recursive: true })
  for (const role of ['sender', 'receiver'] as const) {
    writeFileSync(keysFile(directory, role), JSON.stringify(generateKeyText()), { mode: 0o600 })
  }
  const servers = await serve(place)
  const [origin, receiver] = [await originHere(), await originHere()]
  const config: SenderConfig = {
    profile,
    place,
    urls: servers.urls,
    directory,
    origin,
    receiver,
    activities,
    concurrency,
    timeoutMs,
  }
  const run = new Run(options, config)
  try {
    return await run.run()
  } finally {
    await run.end()
    await servers.stop()
  }
}

const originHere = async (): Promise<string> => `http://127.0.0.1:${await freePort()}`

class Run {
  readonly #options: RunOptions
  readonly #config: SenderConfig
  readonly #alive = new Set<ChildProcess>()
  readonly #kills: Record<string, number> = {}
  /** Points that no process has been started for yet. */
  readonly #points: Record<Role, Point[]>
  #sender: Sender | undefined
  #front: ReturnType<typeof createServer> | undefined
  #isProduced = false
  /** Workers that have not reached their point yet, and workers that start after them. */
  #pending = 0
  #resting = 0
  #isEnding = false
  readonly #broken = Promise.withResolvers<never>()

  constructor(options: RunOptions, config: SenderConfig) {
    this.#options = options
    this.#config = config
    const random = randomOf(options.seed, 'federation')
    const rounds = Array.from({ length: options.rounds }, () => undefined)
    // Low numbers, so that every point is reached before the deliveries run out. Up to ten complete at a time.
    const most = Math.max(1, Math.floor(options.activities / (40 * options.rounds)))
    const pointsOf = (role: Role): Point[] =>
      random.shuffled(
        rounds.flatMap(() => pointNames[role].map((name) => ({ name, number: random.integer(1, Math.min(most, 20)) }))),
      )
    // Keys are pinned once, so the first worker gets the point `pin`.
    const ofWorkers = pointsOf('worker').filter(({ name }) => name !== 'pin')
    this.#points = {
      producer: pointsOf('producer'),
      worker: [{ name: 'pin', number: 1 }, ...ofWorkers],
      receiver: pointsOf('receiver'),
    }
    this.#broken.promise.catch(() => undefined)
  }

  async run(): Promise<RunReport> {
    const { activities, directory, workers, print, waitsForUpkeep } = this.#options
    await this.#startReceiver()
    await this.#startFront()
    this.#spawn('producer')
    // One worker alone, until it was killed at `pin`.
    this.#spawn('worker')
    let others = workers - 1
    let last = { at: performance.now(), state: '' }
    for (;;) {
      if (others > 0 && this.#kills.pin) for (; others > 0; others--) this.#spawn('worker')
      const { effects } = readReceived(directory)
      const { open, unsettled } = await this.#left()
      const state = `${new Set(effects).size} of ${activities} applied, ${open} rows and ${unsettled} jobs open, ${this.#killed()} killed`
      if (state !== last.state) {
        print(state)
        last = { at: performance.now(), state }
      }
      if (this.#isProduced && unsettled === 0 && (open === 0 || !waitsForUpkeep)) break
      if (performance.now() - last.at > stuckMs) break
      await Promise.race([sleep(250), this.#broken.promise])
    }
    const received = readReceived(directory)
    const verdict = await judge(this.#sender!, this.#config, received, this.#unreached())
    return { activities, kills: this.#kills, requests: received.requests, ...verdict }
  }

  /** Kills all processes and closes all connections. */
  async end(): Promise<void> {
    this.#isEnding = true
    const gone = [...this.#alive].map((child) => once(child, 'exit'))
    for (const child of this.#alive) child.kill('SIGKILL')
    await Promise.all(gone)
    this.#front?.closeAllConnections()
    this.#front?.close()
    await this.#sender?.federation.stop()
    await this.#sender?.storage.disconnect()
  }

  /** Starts the receiver with its next kill point, if there is one. Starts another one on the same files after its kill. */
  async #startReceiver(): Promise<void> {
    const { directory, plant } = this.#options
    const { receiver: origin, origin: sender } = this.#config
    const config: ReceiverConfig = { directory, origin, sender, plant }
    const point = this.#points.receiver.shift()
    const child = this.#fork('receiver', [JSON.stringify(config), ...(point ? [written(point)] : [])])
    child.once('exit', (code, signal) => {
      if (this.#isEnding) return
      if (signal !== 'SIGKILL' || !point) {
        return this.#broken.reject(new Error(`chaos: the receiver exited by itself, with ${code ?? signal}`))
      }
      this.#kills[point.name] = (this.#kills[point.name] ?? 0) + 1
      this.#startReceiver().catch((error: unknown) => this.#broken.reject(error))
    })
    await once(child, 'message')
  }

  /** Answers requests to the sender's origin in this process, which is never killed. */
  async #startFront(): Promise<void> {
    const sender = await openSender(this.#config)
    await sender.storage.connect()
    await sender.federation.connect()
    this.#sender = sender
    this.#front = createServer(nodeListener(sender.federation.handler))
    this.#front.listen(portOf(this.#config.origin), '127.0.0.1')
    await once(this.#front, 'listening')
  }

  #fork(role: Role, args: readonly string[]): ChildProcess {
    const child = fork(files[role], args, {
      execArgv: ['--conditions=@holdfast/source', '--no-warnings'],
      env: {
        ...process.env,
        NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? join(this.#options.directory, 'compiled'),
      },
    })
    this.#alive.add(child)
    child.once('exit', () => this.#alive.delete(child))
    return child
  }

  /** Starts a process with the next point, if there is one. Starts another one after its kill. */
  #spawn(role: Exclude<Role, 'receiver'>): void {
    const point = this.#points[role].shift()
    if (role === 'worker' && !point && this.#pending > 0) {
      // A worker without a point could deliver everything before the others reach their points.
      this.#resting++
      return
    }
    if (role === 'worker' && point) this.#pending++
    const child = this.#fork(role, [JSON.stringify(this.#config), ...(point ? [written(point)] : [])])
    let isCrashing = false
    child.on('message', () => (isCrashing = true))
    child.once('exit', (code, signal) => {
      if (this.#isEnding) return
      if (signal === 'SIGKILL' && isCrashing) {
        this.#kills[point!.name] = (this.#kills[point!.name] ?? 0) + 1
        if (role === 'worker') this.#pending--
        this.#spawn(role)
        if (this.#pending === 0) for (; this.#resting > 0; this.#resting--) this.#spawn('worker')
        return
      }
      if (role === 'producer' && code === 0) this.#isProduced = true
      else this.#broken.reject(new Error(`chaos: a ${role} exited by itself, with ${code ?? signal}`))
    })
  }

  #killed(): number {
    return Object.values(this.#kills).reduce((sum, count) => sum + count, 0)
  }

  /** Returns the points that were not reached often enough, so that the run has not proved them. */
  #unreached(): string[] {
    const { rounds } = this.#options
    return allPoints.filter((name) => (this.#kills[name] ?? 0) < (name === 'pin' ? 1 : rounds))
  }

  async #left(): Promise<{ open: number; unsettled: number }> {
    const { store, storage } = this.#sender!
    const open = (await store.deliveries.list({ status: 'open', limit: 100_000 })).length
    const { types } = await storage.count({ types: [deliveryType] })
    const states = types[0]?.states
    const unsettled = states ? states.queued + states.scheduled + states.failing + states.processing : 0
    return { open, unsettled }
  }
}
