// Keeps the workers, producers and operators of a run alive on one storage, and kills, stops and replaces them by the plan. It logs
// each action. Longer than most files: every kind of fault chooses its target among the same processes.

import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, mkdirSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { programOf } from '../scripts/test-programs.ts'
import { type ChildConfig, nameOfChild, sleep, type VolumeConfig } from './child.ts'
import { type Log, openLog } from './log.ts'
import { type FaultKind, Plan } from './plan.ts'
import { type Point, type Role, roles, written } from './points.ts'
import { applyFault, proxyFaults } from './proxy-faults.ts'
import type { Service } from './service.ts'

export interface RigOptions {
  readonly driver: string
  readonly directory: string
  readonly seed: number
  readonly leaseMs: number
  readonly workers: number
  readonly producers: number
  readonly operators: number
  readonly kinds: readonly FaultKind[]
  /** Jobs per second of all producers. */
  readonly rate: number
  readonly plant?: string
  readonly volume?: VolumeConfig
  /** Factor of the pauses between faults. @default 1 */
  readonly calm?: number
  /** File that a worker process runs. @default 'worker.ts' */
  readonly workerScript?: string
  /** For drivers that have a server. */
  readonly service?: Service
  /** Ends sessions at the server. Returns false if there was none. @param drawn 0 … 1 */
  readonly endSession?: (drawn: number) => Promise<boolean>
  /** File that a producer process runs. @default 'producer.ts' */
  readonly producerScript?: string
}

const slotName = (role: Role, slot: number): string => `${role}-${slot}`

type RoleCounts = Pick<RigOptions, 'workers' | 'producers' | 'operators'>

/** The number of processes of a role. */
const slotCount = (options: RoleCounts, role: Role): number => options[`${role}s`]

export function slotsOf(options: RoleCounts): string[] {
  return roles.flatMap((role) => Array.from({ length: slotCount(options, role) }, (_, slot) => slotName(role, slot)))
}

interface Running {
  readonly role: Role
  readonly slot: number
  readonly name: string
  readonly child: ChildProcess
  readonly point: Point | undefined
  readonly since: number
  /** It has said so. */
  ready: boolean
  stopped: boolean
  killed: boolean
}

/** Processes that ended by their own error, after which the run is stopped. */
const mostFailures = 3

const longestStartMs = 60_000

/** Ms after which a process that did not reach its kill point may be killed like any other. */
const patienceMs = 6_000

export class Supervisor {
  readonly counts = {
    kills: 0,
    stops: 0,
    points: 0,
    restarts: 0,
    serverKills: 0,
    freezes: 0,
    sessions: 0,
    proxyFaults: 0,
  }
  readonly #options: RigOptions
  readonly #plan: Plan
  readonly #log: Log
  readonly #orphanCleanup: ChildProcess
  readonly #running = new Map<string, Running>()
  readonly #lives = new Map<string, number>()
  readonly #finished: Record<Role, Set<number>> = { worker: new Set(), producer: new Set(), operator: new Set() }
  readonly #finishing = new Set<Role>()
  readonly #broken = Promise.withResolvers<void>()
  /** A kill or freeze of the server is under way. */
  #serverHeld: Promise<void> | undefined
  #failures = 0
  #marks = 0
  /** Whether faults are off: before the start and after the end of the fault phase. */
  #calm = true
  /** Whether ended processes are no longer replaced, except those that the plan killed. */
  #ending = false
  #onExit: (() => void) | undefined

  constructor(options: RigOptions) {
    this.#options = options
    this.#plan = new Plan(options.seed, options.kinds, options.calm)
    mkdirSync(join(options.directory, 'logs'), { recursive: true })
    this.#log = openLog(join(options.directory, 'logs', 'supervisor.log'), 'supervisor')
    this.#orphanCleanup = spawn(process.execPath, [pathOf('orphan-cleanup.ts')], {
      stdio: ['pipe', 'ignore', 'inherit'],
    })
    this.#orphanCleanup.stdin!.on('error', () => {})
  }

  get isBroken(): boolean {
    return this.#failures >= mostFailures
  }

  /** Resolves once every process is ready: on a busy machine this takes long, and the fault phase starts afterwards. */
  async start(): Promise<void> {
    for (const role of roles) for (let slot = 0; slot < slotCount(this.#options, role); slot++) this.#spawn(role, slot)
    const until = performance.now() + longestStartMs
    while (!this.isBroken && ![...this.#running.values()].every(({ ready }) => ready)) {
      if (performance.now() > until)
        throw new Error(`chaos: the processes were not ready within ${longestStartMs / 1_000} s`)
      await sleep(20)
    }
  }

  /** Runs faults for this long, or until it is over, then continues every stopped process. */
  async runFaults(ms: number, isOver?: Promise<void>): Promise<void> {
    const { kinds } = this.#options
    const until = performance.now() + ms
    this.#calm = false
    const service = this.#options.service
    const ofService = Promise.all([
      service && kinds.includes('server') ? this.#killingServer(service, until) : undefined,
      service && kinds.includes('freeze') ? this.#freezingServer(service, until) : undefined,
      service && kinds.includes('session') ? this.#endingSessions(until) : undefined,
      service && kinds.includes('proxy') ? this.#disturbing(service, until) : undefined,
    ])
    const faults = Promise.all([
      ofService,
      kinds.includes('kill') ? this.#killing(until) : undefined,
      kinds.includes('stop') ? this.#stopping(until) : undefined,
      sleep(ms),
    ])
    await Promise.race([faults, this.#broken.promise, ...(isOver ? [isOver] : [])])
    this.#calm = true
    // Wait until the server is back and its proxies have no fault.
    await ofService
    if (service && !service.running) await this.#revive(service)
  }

  /** Asks all processes of a role to finish. Returns false if some did not in time. */
  async finish(role: Role, withinMs: number): Promise<boolean> {
    this.#finishing.add(role)
    for (const running of this.#running.values()) if (running.role === role) askToFinish(running)
    const slots = slotCount(this.#options, role)
    const until = performance.now() + withinMs
    while (this.#finished[role].size < slots && performance.now() < until) {
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#onExit = resolve
      await Promise.race([promise, sleep(Math.min(250, until - performance.now()))])
    }
    return this.#finished[role].size === slots
  }

  /** Kills every process, whatever its state. */
  async end(): Promise<void> {
    this.#calm = true
    this.#ending = true
    for (const role of roles) this.#finishing.add(role)
    for (const running of this.#running.values()) {
      running.killed = true
      running.child.kill('SIGKILL')
    }
    while (this.#running.size > 0) await sleep(10)
    this.#orphanCleanup.stdin!.end()
  }

  async #killing(until: number): Promise<void> {
    for (;;) {
      const { afterMs, victim } = this.#plan.nextKill()
      if (performance.now() + afterMs > until) return
      await sleep(afterMs)
      const running = await this.#chooseForKill(victim, until)
      if (this.#calm) return
      if (!running) continue
      running.killed = true
      this.#log.write({ what: 'killed', process: running.name })
      running.child.kill('SIGKILL')
      this.counts.kills++
    }
  }

  /**
   * One kill in four hits any process, also while it starts. The others wait until half of the processes are ready, and hit one of those:
   * on a slow machine none would come to work otherwise.
   */
  async #chooseForKill(victim: number, until: number): Promise<Running | undefined> {
    if (this.counts.kills % 4 === 3) return this.#choose(victim, () => true)
    const isOneReady = ({ ready }: Running): boolean => ready
    const isEnough = (): boolean => [...this.#running.values()].filter(isOneReady).length >= this.#running.size / 2
    while (!isEnough() && !this.#calm && performance.now() < until) await sleep(20)
    return this.#choose(victim, isOneReady)
  }

  async #stopping(until: number): Promise<void> {
    for (;;) {
      const { afterMs, forMs, victim } = this.#plan.nextStop(this.#options.leaseMs)
      if (performance.now() + afterMs + forMs > until) return
      await sleep(afterMs)
      // Mostly workers, because they hold leases. A process that just started has none.
      const choose = (): Running | undefined =>
        this.#choose(victim, ({ role, since }) => {
          return (role === 'worker' || victim < 0.1) && performance.now() - since > 500
        })
      let running = choose()
      while (!running && !this.#calm) {
        await sleep(20)
        running = choose()
      }
      if (!running || this.#calm) return
      running.stopped = true
      this.#log.write({ what: 'stopped', process: running.name })
      running.child.kill('SIGSTOP')
      await sleep(forMs)
      this.#log.write({ what: 'continued', process: running.name })
      running.child.kill('SIGCONT')
      running.stopped = false
      this.counts.stops++
    }
  }

  async #killingServer(service: Service, until: number): Promise<void> {
    for (;;) {
      const { afterMs, forMs } = this.#plan.nextServerKill()
      if (performance.now() + afterMs + forMs > until) return
      await sleep(afterMs)
      await this.#serverFree()
      if (this.#calm) return
      const isFree = this.#holdServer()
      if (!service.running) await this.#revive(service)
      this.#log.write({ what: 'serverKilled' })
      await service.kill()
      this.counts.serverKills++
      await sleep(forMs)
      await service.restart()
      this.#log.write({ what: 'serverBack' })
      this.#mark('server', () => true)
      isFree()
    }
  }

  /** SIGSTOP of the server, for longer than a call may take. */
  async #freezingServer(service: Service, until: number): Promise<void> {
    for (;;) {
      const { afterMs, forMs } = this.#plan.nextFreeze()
      if (performance.now() + afterMs + forMs > until) return
      await sleep(afterMs)
      await this.#serverFree()
      if (this.#calm) return
      const isFree = this.#holdServer()
      this.#log.write({ what: 'serverFrozen' })
      await service.freeze()
      this.counts.freezes++
      await sleep(forMs)
      await service.thaw()
      this.#log.write({ what: 'serverThawed' })
      this.#mark('server', () => true)
      isFree()
    }
  }

  /** One fault of the server at a time: a kill does not reach a frozen one, whose processes are then not those that were stopped. */
  #holdServer(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#serverHeld = promise
    return () => {
      this.#serverHeld = undefined
      resolve()
    }
  }

  async #serverFree(): Promise<void> {
    while (this.#serverHeld) await this.#serverHeld
  }

  /** Ends sessions of workers, producers and the supervisor's own storage. */
  async #endingSessions(until: number): Promise<void> {
    for (;;) {
      const { afterMs, drawn } = this.#plan.nextSession()
      if (performance.now() + afterMs > until) return
      await sleep(afterMs)
      if (this.#calm) return
      // While the server is away there is no session to end.
      if (!(await this.#options.endSession!(drawn).catch(() => false))) continue
      this.#log.write({ what: 'sessionEnded' })
      this.counts.sessions++
    }
  }

  /** The server ended by itself, which fails the run; it is restarted so that its data can be checked. */
  async #revive(service: Service): Promise<void> {
    this.#log.write({ what: 'serverDied' })
    await service.restart()
  }

  /** Connection faults on workers and producers, one at a time. */
  async #disturbing(service: Service, until: number): Promise<void> {
    const slots = slotsOf(this.#options)
    for (;;) {
      const { afterMs, fault, forMs, delayMs, victim } = this.#plan.nextProxyFault()
      if (performance.now() + afterMs + forMs > until) return
      await sleep(afterMs)
      if (this.#calm) return
      const slot = slots[Math.floor(victim * slots.length)]!
      this.#log.write({ what: 'disturbed', slot, fault })
      this.counts.proxyFaults++
      await applyFault(service.proxyOf(slot), fault, forMs, delayMs)
      this.#log.write({ what: 'restored', slot })
      if (proxyFaults[fault].disconnects)
        this.#mark('proxy', (running) => slotName(running.role, running.slot) === slot)
    }
  }

  /** Asks every running process to log its first answered call. */
  #mark(after: 'server' | 'proxy', fits: (running: Running) => boolean): void {
    for (const running of this.#running.values()) {
      if (!fits(running) || running.stopped || running.killed) continue
      const mark = ++this.#marks
      this.#log.write({ what: 'marked', process: running.name, mark, after })
      running.child.stdin!.write(`mark ${mark}\n`)
    }
  }

  /** @param drawn 0 … 1 */
  #choose(drawn: number, fits: (running: Running) => boolean): Running | undefined {
    const now = performance.now()
    const candidates = [...this.#running.values()]
      .filter(({ stopped, killed, point, since }) => !stopped && !killed && (!point || now - since > patienceMs))
      .filter(fits)
      .toSorted((one, other) => one.name.localeCompare(other.name))
    return candidates[Math.floor(drawn * candidates.length)]
  }

  #spawn(role: Role, slot: number): void {
    const { driver, directory, seed, leaseMs, kinds, plant, rate, producers, service, volume } = this.#options
    const { workerScript, producerScript } = this.#options
    const script = { worker: workerScript, producer: producerScript, operator: undefined }[role] ?? `${role}.ts`
    const life = (this.#lives.get(slotName(role, slot)) ?? 0) + 1
    this.#lives.set(slotName(role, slot), life)
    const name = nameOfChild({ role, slot, life })
    const point = this.#pointFor(role, slot)
    const poison = kinds.includes('point')
    const config: ChildConfig = {
      role,
      slot,
      life,
      driver,
      directory,
      url: service?.urlOf(slotName(role, slot)),
      seed,
      leaseMs,
      poison,
      plant,
      rate: rate / producers,
      ...(volume && { volume }),
    }
    const stderr = openSync(join(directory, 'logs', `${slotName(role, slot)}.stderr`), 'a')
    const child = spawn(
      process.execPath,
      ['--conditions=@holdfast/source', '--no-warnings', pathOf(script), JSON.stringify(config)],
      {
        stdio: ['pipe', 'pipe', stderr],
        env: {
          ...process.env,
          HOLDFAST_CRASH: point ? written(point) : '',
          // It cuts the start to a third: so many processes die that it matters.
          NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? join(directory, 'compiled'),
        },
      },
    )
    const running = {
      role,
      slot,
      name,
      child,
      point,
      since: performance.now(),
      ready: false,
      stopped: false,
      killed: false,
    }
    this.#running.set(name, running)
    this.#log.write({ what: 'spawned', process: name, pid: child.pid!, ...(point && { point: written(point) }) })
    this.#orphanCleanup.stdin!.write(`+${child.pid}\n`)
    child.stdin!.on('error', () => {})
    child.stdout!.on('data', () => (running.ready = true))
    child.on('exit', (code, signal) => this.#exited(running, code, signal))
    closeSync(stderr)
    if (this.#finishing.has(role)) askToFinish(running)
  }

  #exited(running: Running, code: number | null, signal: string | null): void {
    const { role, slot, name, child, point, killed } = running
    this.#running.delete(name)
    this.#orphanCleanup.stdin!.write(`-${child.pid}\n`)
    this.#log.write({ what: 'exited', process: name, code, signal })
    if (code !== null && code !== 0 && ++this.#failures >= mostFailures) this.#broken.resolve()
    if (this.isBroken) return this.#onExit?.()
    const crashed = signal === 'SIGKILL' && !killed
    if (crashed) this.counts.points++
    if (point && !crashed) this.#plan.giveBack(role, point)
    if (this.#finishing.has(role) && code === 0) this.#finished[role].add(slot)
    else if (!this.#ending) this.#respawn(role, slot)
    this.#onExit?.()
  }

  #respawn(role: Role, slot: number): void {
    this.counts.restarts++
    this.#spawn(role, slot)
  }

  /** At most one process of a role at a time, so that work continues. */
  #pointFor(role: Role, slot: number): Point | undefined {
    const isOff = this.#calm || !this.#options.kinds.includes('point')
    const others = [...this.#running.values()].filter((running) => running.role === role)
    if (isOff || others.some(({ point, since }) => point && performance.now() - since < patienceMs)) return undefined
    return this.#plan.nextPoint(role, slot)
  }
}

const pathOf = (file: string): string => programOf(new URL(file, import.meta.url))

const askToFinish = ({ child }: Running): void => void child.stdin!.write('finish\n')
