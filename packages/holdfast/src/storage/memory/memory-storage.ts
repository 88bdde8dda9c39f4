// The memory driver: for one process, without durability. Each call runs synchronously, so it is atomic by itself.

import { type Clock, systemClock } from '../../clock.ts'
import { unsupported } from '../../errors.ts'
import { resolveOptions } from '../../resolve-options.ts'
import { memoryOptions } from '../options.ts'
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
import { answered } from '../answered.ts'
import type * as Contract from '../storage.ts'
import { sweepFindings, unsweptMs } from '../sweep-findings.ts'
import { add } from '../rules/add.ts'
import { cancel } from '../rules/cancel.ts'
import { claim } from '../rules/claim.ts'
import { count } from './count.ts'
import { Data, type TypeData } from './data.ts'
import { extend } from '../rules/extend.ts'
import { get } from '../rules/get.ts'
import { MemoryKv } from './kv.ts'
import { list } from './list.ts'
import { MemoryMove } from './move.ts'
import { nextDueAt } from './next-due-at.ts'
import { pause } from '../rules/pause.ts'
import { recover } from '../rules/recover.ts'
import { remove } from '../rules/remove.ts'
import { revive } from '../rules/revive.ts'
import { settle } from '../rules/settle.ts'
import { hasExpiredFor, sweep } from './sweep.ts'

/** Options of a MemoryStorage. */
export interface MemoryStorageOptions {
  /** Longest time that one call may take, in ms. @default 5_000 */
  readonly callTimeoutMs?: number | undefined
  /** Clock that the storage reads: a `fakeClock()` in tests. @default the system's */
  readonly clock?: Clock | undefined
}

/** Stores jobs in the memory of this process. They survive a disconnect, but not the process. */
export class MemoryStorage implements Contract.Storage<never> {
  readonly driver = 'memory'
  readonly features: Contract.StorageFeatures = {
    transactions: false,
    durable: false,
    sharedByProcesses: false,
    distributed: false,
    searchIndexed: true,
    fleetEvents: false,
  }
  readonly settings: Contract.StorageSettings
  readonly kv: MemoryKv
  readonly #clock: Clock
  #data = new Data()

  /** @throws TypeError INVALID_ARGUMENT */
  constructor(options?: MemoryStorageOptions) {
    const { callTimeoutMs, clock = systemClock } = resolveOptions('MemoryStorage', options, memoryOptions)
    this.#clock = clock
    this.settings = { callTimeoutMs, prefetchBelow: 8 }
    this.kv = new MemoryKv(() => this.#clock.now())
  }

  async connect(): Promise<void> {}
  async disconnect(): Promise<void> {}

  async clear(): Promise<void> {
    const { types } = this.#data
    this.#data = new Data()
    this.kv.data.clear()
    for (const { name, listeners } of types.values()) {
      const kept = this.#data.ensureType(name).listeners
      for (const kind of Object.keys(listeners) as Contract.TopicKind[]) {
        for (const listener of listeners[kind]) kept[kind].add(listener)
      }
    }
  }

  // The calls of every job are not async: their answers are there when they return.

  add(jobs: readonly Contract.NewJob[], tx?: never): Promise<Contract.AddVerdict[]> {
    return this.#answer((move) => {
      this.#noTx(tx)
      checkNewJobs(this.driver, jobs)
      return add(move, jobs)
    })
  }

  claim(request: Contract.ClaimRequest): Promise<Contract.Claim> {
    return this.#answer((move) => {
      checkClaim(this.driver, request)
      return claim(move, request)
    })
  }

  extend(leases: readonly Contract.Extension[]): Promise<Contract.LeaseVerdict[]> {
    return this.#answer((move) => {
      checkExtensions(leases)
      return extend(move, leases)
    })
  }

  settle(outcomes: readonly Contract.Outcome[], tx?: never): Promise<Contract.SettleVerdict[]> {
    return this.#answer((move) => {
      this.#noTx(tx)
      checkOutcomes(this.driver, outcomes)
      return settle(move, outcomes)
    })
  }

  async recover(request: Contract.RecoverRequest): Promise<Contract.Recovered[]> {
    checkRecoverRequest(request)
    return this.#move((move) => recover(move, request, (type) => (type as TypeData).leases))
  }

  async cancel(
    jobs: readonly Contract.JobRef[],
    options: Contract.CancelOptions = {},
  ): Promise<Contract.CancelVerdict[]> {
    return this.#move((move) => cancel(move, jobs, options))
  }

  async revive(
    jobs: readonly Contract.Revival[],
    options: Contract.ReviveOptions<never> = {},
  ): Promise<Contract.ReviveVerdict[]> {
    this.#noTx(options.tx)
    return this.#move((move) => revive(move, jobs, options))
  }

  async remove(
    jobs: readonly Contract.JobRef[],
    options: Contract.RemoveOptions<never> = {},
  ): Promise<Contract.RemoveVerdict[]> {
    this.#noTx(options.tx)
    return this.#move((move) => remove(move, jobs, options))
  }

  async pause(request: Contract.PauseRequest): Promise<void> {
    this.#move((move) => {
      const type = move.data.ensureType(request.type)
      pause(move, type, request)
      move.prune(type)
    })
  }

  async sweep(request: Contract.SweepRequest): Promise<Contract.Swept> {
    checkSweepRequest(request)
    return this.#move((move) => sweep(move, this.kv.data, request))
  }

  async diagnose(): Promise<Contract.Finding[]> {
    return sweepFindings(this.#move((move) => hasExpiredFor(move, unsweptMs)))
  }

  async get(
    jobs: readonly (Contract.JobRef | Contract.KeyRef)[],
    options: Contract.GetOptions<never> = {},
  ): Promise<(Contract.JobRecord | undefined)[]> {
    this.#noTx(options.tx)
    return this.#move((move) => get(move, jobs, options.parts ?? []))
  }

  async list(query: Contract.ListQuery): Promise<Contract.Page> {
    checkListQuery(query)
    return this.#move((move) => list(move, query))
  }

  async count(query: Contract.CountQuery): Promise<Contract.Counts> {
    checkCountQuery(query)
    return this.#move((move) => count(move, query))
  }

  async nextDueAt(types: readonly Contract.ClaimType[]): Promise<Contract.NextDue | undefined> {
    return this.#move((move) => nextDueAt(move, types))
  }

  async listen(
    topics: readonly Contract.Topic[],
    onSignal: (signal: Contract.Signal) => void,
  ): Promise<Contract.Unlisten> {
    // A new function for each call, so that one `onSignal` can listen twice.
    const listener = (signal: Contract.Signal): void => onSignal(signal)
    for (const { type, kind } of topics) this.#data.ensureType(type).listeners[kind].add(listener)
    return async () => {
      for (const { type: name, kind } of topics) {
        const type = this.#data.types.get(name)
        type?.listeners[kind].delete(listener)
        if (type) this.#data.prune(type, this.#clock.now())
      }
    }
  }

  #move<T>(run: (move: MemoryMove) => T): T {
    const move = new MemoryMove(this.#data, this.#clock.now())
    const answer = run(move)
    move.send()
    return answer
  }

  #answer<T extends object>(run: (move: MemoryMove) => T): Promise<T> {
    try {
      return answered(this.#move(run))
    } catch (error) {
      return Promise.reject<T>(error as Error)
    }
  }

  #noTx(tx: unknown): void {
    if (tx !== undefined) throw unsupported(this.driver, 'transactions')
  }
}
