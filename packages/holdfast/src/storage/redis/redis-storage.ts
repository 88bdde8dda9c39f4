// The Redis driver: fleets of workers on one server or cluster, with the lowest latency. Every verb is one script (lua/) that
// runs atomically on the server and takes the time from it. verbs/ packs the requests and reads the answers.

import { RefCounted } from '../ref-counted.ts'
import type * as Contract from '../storage.ts'
import { Connection } from './connection/connection.ts'
import { serverFindings } from './connection/findings.ts'
import { type Scripts, serverScripts } from './lua/scripts.ts'
import { type RedisStorageOptions, type ResolvedRedisOptions, resolveRedisOptions } from './redis-options.ts'
import { add } from './verbs/add.ts'
import { cancel } from './verbs/cancel.ts'
import { claim } from './verbs/claim.ts'
import { count } from './verbs/count.ts'
import { extend } from './verbs/extend.ts'
import { get } from './verbs/get.ts'
import { RedisKv } from './verbs/kv.ts'
import { list } from './verbs/list/list.ts'
import { Listeners } from './verbs/listen.ts'
import { nextDueAt } from './verbs/next-due-at.ts'
import { pause } from './verbs/pause.ts'
import { recover } from './verbs/recover.ts'
import { remove } from './verbs/remove.ts'
import { revive } from './verbs/revive.ts'
import { ScriptRunner } from './verbs/script-runner.ts'
import { settle } from './verbs/settle.ts'
import { sweep } from './verbs/sweep.ts'

/** Jobs in Redis 7 or Valkey 8, on one server or a Cluster. */
export class RedisStorage implements Contract.Storage<never> {
  readonly driver = 'redis'
  readonly settings: Contract.StorageSettings
  readonly kv: RedisKv
  readonly #options: ResolvedRedisOptions
  readonly #scripts: ScriptRunner
  readonly #listeners: Listeners
  readonly #counted = new RefCounted<Connection>({
    name: 'Redis',
    open: () => this.#open(),
    close: (connection) => {
      this.#listeners.closed()
      return connection.close()
    },
  })

  /**
   * @param scripts for tests: with a clock that is set by hand
   * @throws TypeError INVALID_ARGUMENT
   */
  constructor(options?: RedisStorageOptions, scripts: Scripts = serverScripts) {
    this.#options = resolveRedisOptions(options)
    const { prefix, callTimeoutMs, pollMs, clock } = this.#options
    // The braces keep all keys in one slot of a cluster.
    const base = `{${prefix}}:`
    this.#scripts = new ScriptRunner(scripts, base, () => this.#counted.use())
    this.#listeners = new Listeners(scripts.watch, base, clock)
    this.settings = { callTimeoutMs, pollMs, claimsInFlight: 2, addsPerCall: 50 }
    this.kv = new RedisKv(this.#scripts, () => clock.newId())
  }

  get features(): Contract.StorageFeatures {
    return {
      transactions: false,
      durable: this.#counted.opened?.durable ?? false,
      sharedByProcesses: true,
      distributed: true,
      searchIndexed: true,
      fleetEvents: true,
      handsOver: true,
    }
  }

  // ── life cycle ─────────────────────────────────────────────────────────────────────────────────────────────────────

  connect(): Promise<void> {
    return this.#counted.connect()
  }

  disconnect(): Promise<void> {
    return this.#counted.disconnect()
  }

  clear(): Promise<void> {
    return this.#counted.whileConnected(() => this.#scripts.deleteAll())
  }

  async #open(): Promise<Connection> {
    const connection = new Connection(this.#options)
    await connection.open()
    try {
      await this.#listeners.reopen(connection)
    } catch (error) {
      this.#listeners.closed()
      await connection.close()
      throw error
    }
    return connection
  }

  // ── moves ──────────────────────────────────────────────────────────────────────────────────────────────────────────

  add(jobs: readonly Contract.NewJob[], tx?: never): Promise<Contract.AddVerdict[]> {
    return add(this.#scripts, jobs, tx)
  }

  claim(request: Contract.ClaimRequest): Promise<Contract.Claim> {
    return claim(this.#scripts, request)
  }

  extend(leases: readonly Contract.Extension[]): Promise<Contract.LeaseVerdict[]> {
    return extend(this.#scripts, leases)
  }

  settle(outcomes: readonly Contract.Outcome[], tx?: never): Promise<Contract.SettleVerdict[]> {
    return settle(this.#scripts, outcomes, tx)
  }

  recover(request: Contract.RecoverRequest): Promise<Contract.Recovered[]> {
    return recover(this.#scripts, request)
  }

  cancel(jobs: readonly Contract.JobRef[], options: Contract.CancelOptions = {}): Promise<Contract.CancelVerdict[]> {
    return cancel(this.#scripts, jobs, options)
  }

  revive(
    jobs: readonly Contract.Revival[],
    options: Contract.ReviveOptions<never> = {},
  ): Promise<Contract.ReviveVerdict[]> {
    return revive(this.#scripts, jobs, options)
  }

  remove(
    jobs: readonly Contract.JobRef[],
    options: Contract.RemoveOptions<never> = {},
  ): Promise<Contract.RemoveVerdict[]> {
    return remove(this.#scripts, jobs, options)
  }

  pause(request: Contract.PauseRequest): Promise<void> {
    return pause(this.#scripts, request)
  }

  sweep(request: Contract.SweepRequest): Promise<Contract.Swept> {
    return sweep(this.#scripts, request)
  }

  // ── reads ──────────────────────────────────────────────────────────────────────────────────────────────────────────

  get(
    jobs: readonly (Contract.JobRef | Contract.KeyRef)[],
    options: Contract.GetOptions<never> = {},
  ): Promise<(Contract.JobRecord | undefined)[]> {
    return get(this.#scripts, jobs, options)
  }

  list(query: Contract.ListQuery): Promise<Contract.Page> {
    return list(this.#scripts, query)
  }

  count(query: Contract.CountQuery): Promise<Contract.Counts> {
    return count(this.#scripts, query)
  }

  /** Of every primary. */
  async diagnose(): Promise<Contract.Finding[]> {
    return (await this.#counted.use().facts()).flatMap(serverFindings)
  }

  nextDueAt(types: readonly Contract.ClaimType[]): Promise<{ at: number; now: number } | undefined> {
    return nextDueAt(this.#scripts, types)
  }

  // ── hints ──────────────────────────────────────────────────────────────────────────────────────────────────────────

  async listen(
    topics: readonly Contract.Topic[],
    onSignal: (signal: Contract.Signal) => void,
  ): Promise<Contract.Unlisten> {
    return this.#listeners.listen(this.#counted.use(), topics, onSignal)
  }
}
