// The file driver: one machine, any number of processes and threads, nothing to install. The log is the truth (log/log.ts).
// Each process has a replica of it in memory, on which the journal runs the verbs of the contract (journal.ts).

import { type Clock, systemClock } from '../../clock.ts'
import { unsupported } from '../../errors.ts'
import { resolveOptions } from '../../resolve-options.ts'
import {
  checkClaim,
  checkCountQuery,
  checkExtensions,
  checkListQuery,
  checkNewJobs,
  checkOutcomes,
  checkRecoverRequest,
  checkSweepRequest,
} from '../check.ts'
import { diskFindings, syncFindings } from '../disk-findings.ts'
import { ListenerRegistry } from '../listener-registry.ts'
import { count } from '../memory/count.ts'
import { list } from '../memory/list.ts'
import { nextDueAt } from '../memory/next-due-at.ts'
import { hasExpiredFor, sweep } from '../memory/sweep.ts'
import { fileOptions } from '../options.ts'
import { RefCounted } from '../ref-counted.ts'
import { add } from '../rules/add.ts'
import { cancel } from '../rules/cancel.ts'
import { claim } from '../rules/claim.ts'
import { extend } from '../rules/extend.ts'
import { get } from '../rules/get.ts'
import { pause } from '../rules/pause.ts'
import { remove } from '../rules/remove.ts'
import { revive } from '../rules/revive.ts'
import { settle } from '../rules/settle.ts'
import type * as Contract from '../storage.ts'
import { sweepFindings, unsweptMs } from '../sweep-findings.ts'
import type { CallOptions, Turn } from './journal.ts'
import { FileKv } from './kv.ts'
import { type Disk, nodeDisk } from './log/disk.ts'
import { recoverLost } from './recover.ts'
import { Session } from './session.ts'

/** Options of a FileStorage. */
export interface FileStorageOptions {
  /** Directory of the storage, on a local disk. A missing one is created. */
  readonly directory: string
  /**
   * What an acknowledged write survives. `full`: a power cut. `relaxed`: the end of every process; a power cut may take
   * commits that the system had not yet written back, but never leaves half a job.
   * @default 'full'
   */
  readonly durability?: 'full' | 'relaxed' | undefined
  /** Longest time that one call may take, in ms. @default 5_000 */
  readonly callTimeoutMs?: number | undefined
  /** Clock that the storage reads: a `fakeClock()` in tests. @default the system's */
  readonly clock?: Clock | undefined
}

/** Hooks for tests. */
export interface FileStorageHooks {
  readonly disk?: Disk
  readonly opened?: (session: Session) => void
}

const reads: CallOptions = { reads: true }
const takesRoom: CallOptions = { takesRoom: true }

/** Stores jobs in a directory of a local disk, for the processes and threads of one machine. */
export class FileStorage implements Contract.Storage<never> {
  readonly driver = 'file'
  readonly features: Contract.StorageFeatures
  readonly settings: Contract.StorageSettings
  readonly kv: FileKv
  readonly #listeners = new ListenerRegistry<Session>((session) => this.#watch(session))
  readonly #session: RefCounted<Session>
  readonly #directory: string

  /**
   * @param hooks for tests
   * @throws TypeError INVALID_ARGUMENT
   */
  constructor(options: FileStorageOptions, { disk = nodeDisk, opened }: FileStorageHooks = {}) {
    const resolved = resolveOptions('FileStorage', options, fileOptions)
    const { directory, durability, callTimeoutMs, clock = systemClock } = resolved
    fileOptions.directory.check('FileStorage: directory', directory)
    this.#directory = directory
    const full = durability === 'full'
    /** A new session begins after the old one has shown its jobs. */
    let closing: Promise<void> = Promise.resolve()
    this.#session = new RefCounted({
      name: 'File storage',
      open: async () => {
        await closing
        const session = await Session.open({ directory, full, clock, disk, listeners: this.#listeners })
        opened?.(session)
        this.#listeners.reopen(session).catch(() => {})
        return session
      },
      close: (session) => {
        this.#listeners.closed()
        const closed = session.close()
        closing = closed.catch(() => {})
        return closed
      },
    })
    this.settings = { callTimeoutMs }
    this.features = {
      transactions: false,
      durable: full,
      sharedByProcesses: true,
      distributed: false,
      searchIndexed: false,
      fleetEvents: false,
    }
    this.kv = new FileKv((run, callOptions) => this.#call(run, callOptions))
  }

  connect(): Promise<void> {
    return this.#session.connect()
  }

  disconnect(): Promise<void> {
    return this.#session.disconnect()
  }

  clear(): Promise<void> {
    return this.#session.whileConnected(() => this.#call(({ recording }) => recording.clear(), { alone: true }))
  }

  async add(jobs: readonly Contract.NewJob[], tx?: never): Promise<Contract.AddVerdict[]> {
    this.#noTx(tx)
    checkNewJobs(this.driver, jobs)
    return this.#call(({ move }) => add(move, jobs), takesRoom)
  }

  async claim(request: Contract.ClaimRequest): Promise<Contract.Claim> {
    checkClaim(this.driver, request)
    return this.#call(({ move }) => claim(move, request))
  }

  async extend(leases: readonly Contract.Extension[]): Promise<Contract.LeaseVerdict[]> {
    checkExtensions(leases)
    return this.#call(({ move }) => extend(move, leases))
  }

  async settle(outcomes: readonly Contract.Outcome[], tx?: never): Promise<Contract.SettleVerdict[]> {
    this.#noTx(tx)
    checkOutcomes(this.driver, outcomes)
    return this.#call(({ move }) => settle(move, outcomes))
  }

  async recover(request: Contract.RecoverRequest): Promise<Contract.Recovered[]> {
    checkRecoverRequest(request)
    return this.#call((turn) => recoverLost(turn, request))
  }

  async cancel(
    jobs: readonly Contract.JobRef[],
    options: Contract.CancelOptions = {},
  ): Promise<Contract.CancelVerdict[]> {
    return this.#call(({ move }) => cancel(move, jobs, options))
  }

  async revive(
    jobs: readonly Contract.Revival[],
    options: Contract.ReviveOptions<never> = {},
  ): Promise<Contract.ReviveVerdict[]> {
    this.#noTx(options.tx)
    return this.#call(({ move }) => revive(move, jobs, options))
  }

  async remove(
    jobs: readonly Contract.JobRef[],
    options: Contract.RemoveOptions<never> = {},
  ): Promise<Contract.RemoveVerdict[]> {
    this.#noTx(options.tx)
    return this.#call(({ move }) => remove(move, jobs, options))
  }

  async pause(request: Contract.PauseRequest): Promise<void> {
    await this.#call(({ move, recording }) => {
      if (request.group === undefined) recording.pause(request.type)
      pause(move, move.data.ensureType(request.type), request)
    })
  }

  async sweep(request: Contract.SweepRequest): Promise<Contract.Swept> {
    checkSweepRequest(request)
    const session = this.#session.use()
    const swept = await session.journal.call(({ move, kv }) => sweep(move, kv, request))
    if (this.#session.opened === session) await session.sweep()
    return swept
  }

  async get(
    jobs: readonly (Contract.JobRef | Contract.KeyRef)[],
    options: Contract.GetOptions<never> = {},
  ): Promise<(Contract.JobRecord | undefined)[]> {
    this.#noTx(options.tx)
    return this.#call(({ move }) => get(move, jobs, options.parts ?? []), reads)
  }

  async list(query: Contract.ListQuery): Promise<Contract.Page> {
    checkListQuery(query)
    return this.#call(({ move }) => list(move, query), reads)
  }

  async count(query: Contract.CountQuery): Promise<Contract.Counts> {
    checkCountQuery(query)
    return this.#call(({ move }) => count(move, query), reads)
  }

  async diagnose(): Promise<Contract.Finding[]> {
    this.#session.use()
    const isOverdue = await this.#call(({ move }) => hasExpiredFor(move, unsweptMs), reads)
    return [
      ...(await diskFindings(this.#directory)),
      ...syncFindings(this.features.durable),
      ...sweepFindings(isOverdue),
    ]
  }

  async nextDueAt(types: readonly Contract.ClaimType[]): Promise<Contract.NextDue | undefined> {
    return this.#call(({ move }) => nextDueAt(move, types), reads)
  }

  async listen(
    topics: readonly Contract.Topic[],
    onSignal: (signal: Contract.Signal) => void,
  ): Promise<Contract.Unlisten> {
    return this.#listeners.listen(this.#session.use(), topics, onSignal)
  }

  async #watch(session: Session): Promise<() => void> {
    await session.listen()
    return () => {
      // A session has one watch: it goes on if another listener came meanwhile.
      if (!this.#listeners.isOpen) session.unlisten()
    }
  }

  async #call<T>(run: (turn: Turn) => T, options?: CallOptions): Promise<T> {
    return this.#session.use().journal.call(run, options)
  }

  #noTx(tx: unknown): void {
    if (tx !== undefined) throw unsupported(this.driver, 'transactions')
  }
}
