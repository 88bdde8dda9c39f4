// createAdmin(): puts the operations of the engine together for every type of a storage.

import { systemClock } from '../clock.ts'
import { Connection } from '../engine/connection.ts'
import { diagnose } from '../engine/doctor/doctor.ts'
import { type SeenFinding, SeenFindings } from '../engine/doctor/seen-findings.ts'
import { type EngineEvent, eventPublisher } from '../engine/events.ts'
import { type History, type HistoryRange, readHistory } from '../engine/history/read-history.ts'
import type { Explanation } from '../engine/explain/explanation.ts'
import { type GuardedStorage, guardStorage } from '../engine/guard.ts'
import { eventLog } from '../engine/log-events.ts'
import { OpenStreams } from '../engine/open-streams.ts'
import type { NamedJob } from '../engine/operate/job-item.ts'
import { Operations, writeLog } from '../engine/operate/operations.ts'
import { valueCodec } from '../engine/operate/payload-codec.ts'
import type { TypeSummary } from '../engine/operate/type-summary.ts'
import type { WorkerInfo } from '../engine/work/presence.ts'
import { HoldfastError } from '../errors.ts'
import { resolveOptions } from '../resolve-options.ts'
import type { Admin, AdminBulk, AdminJobs, AdminLimits, AdminOptions, AdminSchedules } from './admin.ts'
import { adminBulk } from './bulk.ts'
import { Counters, type EventCounters } from './counters.ts'
import { type FleetEvent, type FleetEventStream, fleetStream } from './fleet-events.ts'
import { LimitsCalls } from '../engine/limits/limits-calls.ts'
import { adminLimits } from './limits.ts'
import { adminJobs, refOf } from './jobs.ts'
import { adminSchedules } from './schedules.ts'
import { type AdminAudit, AuditLog, AuditWrites } from './audit.ts'
import { adminOptions, byOptions, fleetEventOptions, type NamedType, pauseTarget, typeOf } from './options.ts'
import { sweepAll, type SweepResult } from './sweep.ts'

/**
 * Makes a handle that operates the jobs of every face on a storage: lists, counts, retries, cancels, removes, pauses. It connects
 * with its first call.
 * @throws TypeError INVALID_ARGUMENT
 */
export function createAdmin(options: AdminOptions): Admin {
  return new AdminHandle(options)
}

/** The others are about changes, each of which is a line of its own. */
const logged: ReadonlySet<EngineEvent['name']> = new Set(['connection_lost', 'connection_restored', 'finding'])

class AdminHandle implements Admin {
  readonly jobs: AdminJobs
  readonly bulk: AdminBulk
  readonly schedules: AdminSchedules
  readonly limits: AdminLimits
  readonly storage: Admin['storage']
  readonly audit: AdminAudit
  readonly redrive: Admin['redrive']
  readonly #options: AdminOptions
  /** The handle that this one was made of, by as(). Undefined: it has a connection of its own. */
  readonly #parent: AdminHandle | undefined
  readonly #auditWrites: AuditWrites
  readonly #clock
  readonly #by: string | undefined
  readonly #storage: GuardedStorage
  readonly #connection: Connection
  readonly #operations: Operations
  readonly #seenFindings: SeenFindings
  readonly #streams = new OpenStreams<FleetEvent>()
  #counters: { readonly counters: Counters; readonly ready: Promise<void> } | undefined
  #closed = false

  constructor(options: AdminOptions, parent?: AdminHandle) {
    const { storage, by, logger, clock = systemClock } = resolveOptions('createAdmin', options, adminOptions)
    adminOptions.storage.check('storage', storage)
    this.#options = options
    this.#parent = parent
    this.#clock = clock
    this.#by = by
    const toLogger = writeLog(logger, 'admin')
    const logEvent = eventLog(logger, 'admin')
    const publishEvent = eventPublisher((event) => {
      if (logged.has(event.name)) logEvent?.(event)
    })
    this.#storage = parent ? parent.#storage : guardStorage(storage, clock, publishEvent)
    this.#connection = parent ? parent.#connection : new Connection(this.#storage, 'admin')
    const { kv, driver, settings } = this.#storage
    this.storage = { driver, createdIndexed: settings.createdIndexed === true }
    this.#auditWrites = parent ? parent.#auditWrites : new AuditWrites()
    this.#seenFindings = parent ? parent.#seenFindings : new SeenFindings()
    const whenOpen = <T>(call: () => Promise<T>): Promise<T> => this.#whenConnected(call)
    this.audit = new AuditLog({ kv, clock, by, writes: this.#auditWrites, whenConnected: whenOpen })
    const log: typeof toLogger = (message, data) => {
      toLogger(message, data)
      void this.audit.record({ what: message, by: (data as { readonly by?: string }).by })
    }
    this.#operations = new Operations({
      storage: this.#storage,
      clock,
      codec: valueCodec,
      publishEvent,
      whenConnected: whenOpen,
      log: (message, data) => log(message, by === undefined ? data : { by, ...data }),
    })
    const { whenConnected, log: logWrite } = this.#operations.options
    const limits = new LimitsCalls({ storage: this.#storage, clock, whenConnected, log: logWrite })
    this.limits = adminLimits(limits, by)
    this.jobs = adminJobs(this.#operations)
    this.bulk = adminBulk(this.#operations)
    this.schedules = adminSchedules({ storage: this.#storage, clock, publishEvent, whenConnected: whenOpen }, by, log)
    this.redrive = (filter, given) => this.bulk.redrive(filter ?? {}, given)
  }

  as(by: string): Admin {
    return new AdminHandle({ ...this.#options, by }, this)
  }

  types(): Promise<TypeSummary[]> {
    return this.#operations.summaries(undefined)
  }

  async pause(target: Parameters<Admin['pause']>[0], options?: { readonly by?: string | undefined }): Promise<void> {
    const { type, group } = pauseTarget('pause', target)
    const { by = this.#by } = resolveOptions('pause', options, byOptions)
    await this.#operations.pause(type, true, group, by)
  }

  async resume(target: Parameters<Admin['resume']>[0], options?: { readonly by?: string | undefined }): Promise<void> {
    const { type, group } = pauseTarget('resume', target)
    const { by = this.#by } = resolveOptions('resume', options, byOptions)
    await this.#operations.pause(type, false, group, by)
  }

  async explain(job: NamedJob): Promise<Explanation> {
    return this.#operations.explain(refOf(job))
  }

  async doctor(): Promise<SeenFinding[]> {
    const found = await this.#whenConnected(() => diagnose(this.#storage, this.#clock))
    const { seen, fresh } = this.#seenFindings.note(found, this.#clock.now())
    for (const finding of fresh) this.#operations.options.publishEvent({ name: 'finding', ...finding })
    return seen
  }

  workers(): Promise<WorkerInfo[]> {
    return this.#operations.workers()
  }

  async history(range: HistoryRange, type?: NamedType): Promise<History> {
    const of = type && typeOf('type', type)
    return this.#whenConnected(() => readHistory(this.#storage, this.#clock, range, of))
  }

  events(options?: Parameters<Admin['events']>[0]): FleetEventStream {
    const { types, signal } = resolveOptions('events', options, fleetEventOptions)
    const source = {
      storage: this.#storage,
      clock: this.#clock,
      types: types?.map((type, index) => typeOf(`types[${index}]`, type)),
      whenConnected: <T>(call: () => Promise<T>) => this.#whenConnected(call),
    }
    const stream = this.#streams.open((onEnd) => fleetStream({ ...source, onEnd }), signal)
    return Object.assign(stream, { scope: this.#scope })
  }

  async counters(): Promise<EventCounters> {
    this.#counters ??= this.#count()
    await this.#counters.ready
    return this.#counters.counters.read()
  }

  async sweep(): Promise<SweepResult> {
    const result = await this.#whenConnected(() => sweepAll(this.#storage))
    this.#operations.options.log('swept', result)
    return result
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#streams.end()
    // Entries that are on their way need the connection.
    await Promise.all(this.#auditWrites.pending)
    if (!this.#parent) await this.#connection.stop().catch(() => {})
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  get #scope(): 'fleet' | 'process' {
    return this.#storage.features.fleetEvents ? 'fleet' : 'process'
  }

  #count(): { readonly counters: Counters; readonly ready: Promise<void> } {
    const stream = this.events()
    const counters = new Counters(this.#clock.now(), this.#scope)
    void counters.follow(stream)
    const ready = stream.ready.catch((error: unknown) => {
      // The next call begins anew.
      this.#counters = undefined
      throw error
    })
    return { counters, ready }
  }

  async #whenConnected<T>(call: () => Promise<T>): Promise<T> {
    if (this.#closed || (this.#parent && this.#parent.#closed)) throw this.#closedError()
    if (!this.#connection.isOpen) await this.#connection.use()
    try {
      return await call()
    } catch (error) {
      throw this.#closed ? this.#closedError() : error
    }
  }

  #closedError(): HoldfastError {
    return new HoldfastError('CLOSED', 'admin: it was closed. Make another handle with createAdmin().')
  }
}
