// The file driver: one machine, any number of processes and threads, nothing to install. The log has the truth (log.ts), each
// process a replica of it in memory (journal.ts), on which the moves of the contract are run.

import { type Clock, systemClock } from '../../clock.ts'
import { HoldfastError, unsupported } from '../../errors.ts'
import { resolveOptions } from '../../resolve-options.ts'
import { fileOptions } from '../options.ts'
import { checkListQuery, checkNewJobs, checkOutcomes } from '../check.ts'
import { count } from '../memory/count.ts'
import { list } from '../memory/list.ts'
import { nextDueAt } from '../memory/next-due-at.ts'
import { sweep } from '../memory/sweep.ts'
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
import { type Disk, nodeDisk } from './log/disk.ts'
import { Listeners } from './hints.ts'
import type { CallOptions, Turn } from './journal.ts'
import { FileKv } from './kv.ts'
import { recoverLost } from './replica/recover.ts'
import { Session } from './session.ts'

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

/** For tests. */
export interface FileStorageHooks {
  readonly disk?: Disk
  readonly opened?: (session: Session) => void
}

const reads: CallOptions = { reads: true }
const takesRoom: CallOptions = { takesRoom: true }

/** Jobs in a directory of a local disk, for the processes and threads of one machine. */
export class FileStorage implements Contract.Storage<never> {
  readonly driver = 'file'
  readonly features: Contract.StorageFeatures
  readonly settings: Contract.StorageSettings
  readonly kv: FileKv
  readonly #open: () => Promise<Session>
  readonly #listeners = new Listeners()
  #connections = 0
  #session: Session | undefined
  /** Opening and closing, one after the other. */
  #turn: Promise<void> = Promise.resolve()

  /**
   * @param hooks for tests
   * @throws TypeError INVALID_ARGUMENT
   */
  constructor(options: FileStorageOptions, { disk = nodeDisk, opened }: FileStorageHooks = {}) {
    const resolved = resolveOptions('FileStorage', options, fileOptions)
    const { directory, durability, callTimeoutMs, clock = systemClock } = resolved
    fileOptions.directory.check('FileStorage: directory', directory)
    const full = durability === 'full'
    this.#open = async () => {
      const session = await Session.open({ directory, full, clock, disk, listeners: this.#listeners })
      opened?.(session)
      return session
    }
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
    return this.#inTurn(async () => {
      this.#session ??= await this.#open()
      this.#connections++
    })
  }

  disconnect(): Promise<void> {
    return this.#inTurn(async () => {
      if (this.#connections === 0 || --this.#connections > 0) return
      const session = this.#session
      this.#session = undefined
      await session?.close()
    })
  }

  async clear(): Promise<void> {
    await this.connect()
    try {
      await this.#call(({ recording }) => recording.clear(), { alone: true })
    } finally {
      await this.disconnect()
    }
  }

  async add(jobs: readonly Contract.NewJob[], tx?: never): Promise<Contract.AddVerdict[]> {
    this.#noTx(tx)
    checkNewJobs(this.driver, jobs)
    return this.#call(({ move }) => add(move, jobs), takesRoom)
  }

  async claim(request: Contract.ClaimRequest): Promise<Contract.Claim> {
    if (request.outcomes) checkOutcomes(this.driver, request.outcomes)
    return this.#call(({ move }) => claim(move, request))
  }

  async extend(leases: readonly Contract.Extension[]): Promise<Contract.LeaseVerdict[]> {
    return this.#call(({ move }) => extend(move, leases))
  }

  async settle(outcomes: readonly Contract.Outcome[], tx?: never): Promise<Contract.SettleVerdict[]> {
    this.#noTx(tx)
    checkOutcomes(this.driver, outcomes)
    return this.#call(({ move }) => settle(move, outcomes))
  }

  async recover(request: Contract.RecoverRequest): Promise<Contract.Recovered[]> {
    return this.#call((turn) => recoverLost(turn, request))
  }

  async cancel(
    jobs: readonly Contract.JobRef[],
    options: Contract.CancelOptions = {},
  ): Promise<Contract.CancelVerdict[]> {
    return this.#call(({ move }) => cancel(move, jobs, options))
  }

  async revive(
    jobs: readonly Contract.JobRef[],
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
      recording.pause(request.type, request.group)
      pause(move, move.data.ensureType(request.type), request)
    })
  }

  async sweep(request: Contract.SweepRequest): Promise<Contract.Swept> {
    const swept = await this.#call(({ move, kv }) => sweep(move, kv, request))
    await this.#session?.sweep()
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
    return this.#call(({ move }) => count(move, query), reads)
  }

  async nextDueAt(types: readonly Contract.ClaimType[]): Promise<{ at: number; now: number } | undefined> {
    return this.#call(({ move }) => nextDueAt(move, types), reads)
  }

  async listen(
    topics: readonly Contract.Topic[],
    onSignal: (signal: Contract.Signal) => void,
  ): Promise<Contract.Unlisten> {
    // A listener of its own for each call, so that the same function may listen twice.
    const listener = (signal: Contract.Signal): void => onSignal(signal)
    this.#listeners.add(topics, listener)
    try {
      await this.#opened().listen()
    } catch (error) {
      this.#listeners.delete(topics, listener)
      throw error
    }
    let listens = true
    return async () => {
      if (!listens) return
      listens = false
      this.#listeners.delete(topics, listener)
      this.#session?.unlisten()
    }
  }

  async #call<T>(run: (turn: Turn) => T, options?: CallOptions): Promise<T> {
    return this.#opened().journal.call(run, options)
  }

  #opened(): Session {
    if (this.#session) return this.#session
    throw new HoldfastError('STORAGE_CLOSED', 'the storage is closed: call connect(), or start what uses it')
  }

  #inTurn(run: () => Promise<void>): Promise<void> {
    const turn = this.#turn.then(run)
    this.#turn = turn.catch(() => {})
    return turn
  }

  #noTx(tx: unknown): void {
    if (tx !== undefined) throw unsupported(this.driver, 'transactions')
  }
}
