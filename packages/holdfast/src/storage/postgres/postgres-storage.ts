// The Postgres driver: jobs in the app's own database and transactions, for fleets of workers. Each verb of the contract is a file in
// verbs/. It runs the rules of storage/rules on locked rows (rules/); calls that need no rule, as nearly all do, take a fast path of one
// statement (fast/).

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
import { ListenerRegistry } from '../listener-registry.ts'
import { RefCounted } from '../ref-counted.ts'
import type * as Contract from '../storage.ts'
import { type Database, openDatabase, type Row, type Value } from './connection/database.ts'
import { eventChannelOf } from './connection/event-messages.ts'
import { channelOf } from './connection/hints.ts'
import { LeaseCache } from './fast/lease-cache.ts'
import { ScanCursor } from './fast/scan-cursor.ts'
import { countDone, migrate, migrationPlan } from './migrations.ts'
import {
  type PostgresStorageOptions,
  type ResolvedPostgresOptions,
  resolvePostgresOptions,
} from './postgres-options.ts'
import type { JoinedTransaction } from './rules/rule-runner.ts'
import { makeSql, serverTime } from './sql/statement.ts'
import { add } from './verbs/add.ts'
import { cancel } from './verbs/cancel.ts'
import { claim } from './verbs/claim.ts'
import { clear } from './verbs/clear.ts'
import { count } from './verbs/count.ts'
import { diagnose } from './verbs/diagnose.ts'
import { hintFindings } from './verbs/hint-probe.ts'
import { extend } from './verbs/extend.ts'
import { get } from './verbs/get.ts'
import { makeKvStatements, PostgresKv } from './verbs/kv.ts'
import { list } from './verbs/list.ts'
import { listenForHints } from './verbs/listen.ts'
import { nextDueAt } from './verbs/next-due-at.ts'
import { makeVerbStatements, type OpenStorage, openStorage, type StorageParts } from './verbs/open-storage.ts'
import { pause } from './verbs/pause.ts'
import { recover } from './verbs/recover.ts'
import { remove } from './verbs/remove.ts'
import { revive } from './verbs/revive.ts'
import { settle } from './verbs/settle.ts'
import { sweep } from './verbs/sweep.ts'
import {
  type JoinableTransaction,
  joinTransaction,
  type PostgresTransaction,
  transaction,
} from './verbs/transaction.ts'
import { EventWatches } from './verbs/watch-events.ts'

/** Stores jobs in a Postgres database, for the processes of many machines. Jobs can join your own transactions, by `tx`. */
export class PostgresStorage implements Contract.Storage<JoinableTransaction> {
  readonly driver = 'postgres'
  readonly features: Contract.StorageFeatures
  readonly settings: Contract.StorageSettings
  readonly kv: PostgresKv
  readonly #options: ResolvedPostgresOptions
  readonly #parts: StorageParts
  readonly #listeners: ListenerRegistry<Database> = new ListenerRegistry((database) =>
    listenForHints(database, this.#parts, this.#listeners),
  )
  readonly #watches: EventWatches
  readonly #opened = new RefCounted<OpenStorage>({
    name: 'Postgres',
    open: () => this.#openAll(),
    close: ({ database }) => {
      this.#listeners.closed()
      this.#watches.closed()
      return database.close()
    },
  })

  /**
   * Connects at connect(), not before.
   * @param now for tests: an SQL expression of the time, with `$.` for the schema
   * @throws TypeError INVALID_ARGUMENT
   */
  constructor(options: PostgresStorageOptions, now: string = serverTime) {
    this.#options = resolvePostgresOptions(options)
    const { schema, callTimeoutMs, clock, poolSize } = this.#options
    const sql = makeSql(schema, now)
    this.#parts = {
      sql,
      statements: makeVerbStatements(sql),
      cursor: new ScanCursor(clock),
      leases: new LeaseCache(),
      channel: channelOf(schema),
      eventChannel: eventChannelOf(schema),
      instance: clock.newId(),
      listenersOf: this.#listeners.listenersOf,
    }
    this.#watches = new EventWatches(clock, eventChannelOf(schema), (signal) => this.#listeners.notify(signal))
    this.features = {
      transactions: true,
      durable: true,
      sharedByProcesses: true,
      distributed: true,
      searchIndexed: true,
      fleetEvents: this.#options.listen,
      handsOver: this.#options.listen,
    }
    // A claim costs much, however few jobs it brings: a worker with 100 slots still gains from claims ahead.
    this.settings = {
      callTimeoutMs,
      createdIndexed: true,
      claimsInFlight: 2,
      settlesBeside: true,
      prefetchBelow: Infinity,
      openTransactions: Math.max(1, poolSize - 2),
    }
    this.kv = new PostgresKv(makeKvStatements(sql), async (statement, values) =>
      this.#open.database.query(statement, values),
    )
  }

  // ── life cycle ─────────────────────────────────────────────────────────────────────────────────────────────────────

  connect(): Promise<void> {
    return this.#opened.connect()
  }

  disconnect(): Promise<void> {
    return this.#opened.disconnect()
  }

  /**
   * Creates the schema or brings it up to date, also with `migrate: false`: a step of a deployment, by a role that may create tables.
   * @param options.plan only returns the statements
   * @returns the statements that were missing
   * @throws StorageError
   */
  async migrate({ plan = false }: { readonly plan?: boolean | undefined } = {}): Promise<string[]> {
    const { schema } = this.#options
    // An index over many rows takes its time.
    const callTimeoutMs = Math.max(this.#options.callTimeoutMs, 30_000)
    const database = await openDatabase({ ...this.#options, callTimeoutMs, listen: false, prepare: false })
    try {
      const missing = migrationPlan(schema, await countDone(database, schema))
      if (!plan && missing.length > 0) await migrate(database, schema, true)
      return missing
    } finally {
      await database.close()
    }
  }

  clear(): Promise<void> {
    return this.#opened.whileConnected(() => clear(this.#open))
  }

  async #openAll(): Promise<OpenStorage> {
    const open = await openStorage(this.#options, this.#parts)
    try {
      await this.#listeners.reopen(open.database)
      await this.#watches.reopen(open)
      return open
    } catch (error) {
      await open.database.close()
      throw error
    }
  }

  /** @throws STORAGE_CLOSED */
  get #open(): OpenStorage {
    return this.#opened.use()
  }

  // ── moves ──────────────────────────────────────────────────────────────────────────────────────────────────────────

  async add(jobs: readonly Contract.NewJob[], tx?: JoinableTransaction): Promise<Contract.AddVerdict[]> {
    checkNewJobs(this.driver, jobs)
    return add(this.#open, jobs, this.#join(tx))
  }

  async claim(request: Contract.ClaimRequest): Promise<Contract.Claim> {
    checkClaim(this.driver, request)
    return claim(this.#open, request)
  }

  async extend(leases: readonly Contract.Extension[]): Promise<Contract.LeaseVerdict[]> {
    checkExtensions(leases)
    return extend(this.#open, leases)
  }

  async settle(outcomes: readonly Contract.Outcome[], tx?: JoinableTransaction): Promise<Contract.SettleVerdict[]> {
    checkOutcomes(this.driver, outcomes)
    return settle(this.#open, outcomes, this.#join(tx))
  }

  async recover(request: Contract.RecoverRequest): Promise<Contract.Recovered[]> {
    checkRecoverRequest(request)
    return recover(this.#open, request)
  }

  async cancel(jobs: readonly Contract.JobRef[], options?: Contract.CancelOptions): Promise<Contract.CancelVerdict[]> {
    return cancel(this.#open, jobs, options)
  }

  async revive(
    jobs: readonly Contract.Revival[],
    options: Contract.ReviveOptions<JoinableTransaction> = {},
  ): Promise<Contract.ReviveVerdict[]> {
    return revive(this.#open, jobs, options, this.#join(options.tx))
  }

  async remove(
    jobs: readonly Contract.JobRef[],
    options: Contract.RemoveOptions<JoinableTransaction> = {},
  ): Promise<Contract.RemoveVerdict[]> {
    return remove(this.#open, jobs, options, this.#join(options.tx))
  }

  async pause(request: Contract.PauseRequest): Promise<void> {
    return pause(this.#open, request)
  }

  async sweep(request: Contract.SweepRequest): Promise<Contract.Swept> {
    checkSweepRequest(request)
    return sweep(this.#open, this.kv, request)
  }

  // ── reads ──────────────────────────────────────────────────────────────────────────────────────────────────────────

  async get(
    jobs: readonly (Contract.JobRef | Contract.KeyRef)[],
    options: Contract.GetOptions<JoinableTransaction> = {},
  ): Promise<(Contract.JobRecord | undefined)[]> {
    return get(this.#open, jobs, options, this.#join(options.tx))
  }

  async list(query: Contract.ListQuery): Promise<Contract.Page> {
    checkListQuery(query)
    return list(this.#open, query)
  }

  async count(query: Contract.CountQuery): Promise<Contract.Counts> {
    checkCountQuery(query)
    return count(this.#open, query)
  }

  async nextDueAt(types: readonly Contract.ClaimType[]): Promise<{ at: number; now: number } | undefined> {
    return nextDueAt(this.#open, types)
  }

  async diagnose(): Promise<Contract.Finding[]> {
    const open = this.#open
    return [...(await diagnose(open)), ...(await hintFindings(open.database))]
  }

  // ── hints, transactions ────────────────────────────────────────────────────────────────────────────────────────────

  async listen(
    topics: readonly Contract.Topic[],
    onSignal: (signal: Contract.Signal) => void,
  ): Promise<Contract.Unlisten> {
    const open = this.#open
    const unlisten = await this.#listeners.listen(open.database, topics, onSignal)
    const watched = topics.filter(({ kind }) => kind === 'events').map(({ type }) => type)
    if (watched.length === 0 || !this.features.fleetEvents) return unlisten
    try {
      const unwatch = await this.#watches.watch(open, watched)
      return async () => {
        await unlisten()
        await unwatch()
      }
    } catch (error) {
      await unlisten()
      throw error
    }
  }

  /**
   * Runs a function in a transaction: what it does with `tx.query`, and the calls that are given `tx`, are committed together or
   * not at all. Calls can also join a transaction of the client library: pass that as `tx`.
   * Rejects with what the function rejects with, or with a StorageError.
   */
  async transaction<T>(run: (tx: PostgresTransaction) => Promise<T>): Promise<T> {
    return transaction(this.#open, this, run)
  }

  /**
   * Runs one statement of your own by itself: one round trip, where transaction() takes two. It waits for locks as long as for its answer.
   * Select every column as text: values come back as text or null. Rejects with a StorageError.
   */
  async query(text: string, values: readonly Value[] = []): Promise<Row[]> {
    return this.#open.database.query({ name: '', text }, values)
  }

  #join(tx: JoinableTransaction | undefined): JoinedTransaction | undefined {
    return joinTransaction(this.#open, this, tx)
  }
}
