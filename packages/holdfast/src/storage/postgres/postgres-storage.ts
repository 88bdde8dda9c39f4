// The Postgres driver: jobs in the app's own database and transactions, for fleets of workers. The rules are those of
// storage/rules, run on rows that are locked (mover.ts); jobs that are alone, as nearly all are, go by short ways (fast/).
// Longer than others: it has every verb of the contract, a few lines each.

import { invalidArgument } from '../../errors.ts'
import { checkListQuery, checkNewJobs, checkOutcomes, outcomeJobs } from '../check.ts'
import { RefCounted } from '../ref-counted.ts'
import { ListenerRegistry } from '../listener-registry.ts'
import { add } from '../rules/add.ts'
import { cancel } from '../rules/cancel.ts'
import { claim } from '../rules/claim.ts'
import { get } from '../rules/get.ts'
import { pause } from '../rules/pause.ts'
import { recover } from '../rules/recover.ts'
import { remove } from '../rules/remove.ts'
import { revive } from '../rules/revive.ts'
import { settle } from '../rules/settle.ts'
import type * as Contract from '../storage.ts'
import { count } from './verbs/count.ts'
import {
  type Database,
  openDatabase,
  type OpenTransaction,
  type Row,
  type Statement,
  type Value,
} from './connection/database.ts'
import { fastAdd, fastAddStatement, isFastAdd } from './fast/add.ts'
import { fastCancel, fastCancelStatement } from './fast/cancel.ts'
import { type ClaimStatements, plainOutcomes, fastClaim, fastClaimStatements, type Memory } from './fast/claim.ts'
import { eachOnce, extendFree, extendStatement, whyNot } from './fast/extend.ts'
import { Linked } from './fast/lease-cache.ts'
import { Starts } from './fast/scan-cursor.ts'
import { Told } from './fast/after-commit.ts'
import { pausedOf } from './rules/group.ts'
import { channelOf, decodeHints } from './verbs/hints.ts'
import { makeKvStatements, PostgresKv } from './verbs/kv.ts'
import { list } from './verbs/list.ts'
import type { Loader } from './rules/load.ts'
import { Loaded } from './rules/loaded.ts'
import { migrate, tables } from './migrations.ts'
import { PostgresMove } from './rules/move.ts'
import { type Call, type Joined, Mover } from './rules/mover.ts'
import {
  type PostgresStorageOptions,
  type ResolvedPostgresOptions,
  resolvePostgresOptions,
} from './postgres-options.ts'
import { makeReads, type ReadStatements } from './verbs/reads.ts'
import { asked, makeSql, makeStatements, serverTime, type Statements } from './rules/statements.ts'
import { loadExpired, sweep } from './verbs/sweep.ts'
import { arrayOf, optionalText } from './rules/text.ts'
import { PostgresTransaction } from './connection/transaction.ts'
import { type PostgresType, Types } from './rules/types.ts'
import { typesOfBlockers, typesOfOutcomes, wantAlone, wantJobs, wantNewJobs, wantOutcomes } from './rules/want.ts'
import { WorkingSet } from './rules/working-set.ts'

/** Jobs read at once for a claim, whatever it asks for; and lost leases, at least. */
const [mostAtOnce, lostAtOnce] = [1_000, 100]
const mostRows = 2 ** 30

/** What is open between connect() and disconnect(). */
interface Open {
  readonly database: Database
  readonly types: Types
  readonly mover: Mover
  /** Its heartbeats will need a connection of their own. */
  hasClaimed: boolean
}

const nothing: Statement = { name: '', text: 'SELECT NULL AS c0' }

/** The transactions that moves can join: one of transaction(), or what the client library has for one. */
export type JoinableTransaction = PostgresTransaction | object

export class PostgresStorage implements Contract.Storage<JoinableTransaction> {
  readonly driver = 'postgres'
  readonly features: Contract.StorageFeatures = {
    transactions: true,
    durable: true,
    sharedByProcesses: true,
    distributed: true,
    searchIndexed: false,
    fleetEvents: false,
  }
  readonly settings: Contract.StorageSettings
  readonly kv: PostgresKv
  readonly #options: ResolvedPostgresOptions
  readonly #statements: Statements
  readonly #reads: ReadStatements
  /** The short ones. */
  readonly #ways: Readonly<Record<'add' | 'extend' | 'cancel' | 'notify', Statement>> & {
    readonly claims: ClaimStatements
  }
  readonly #clear: readonly Statement[]
  readonly #instance: string
  readonly #channel: string
  readonly #memory: Memory
  readonly #hearing = new ListenerRegistry<Database>((database) => this.#hear(database))
  readonly #counted = new RefCounted<Open>({
    name: 'Postgres',
    open: () => this.#openAll(),
    close: ({ database }) => {
      this.#hearing.closed()
      return database.close()
    },
  })

  /**
   * @param now for tests: an expression of the time, with `$.` for the schema
   * @throws TypeError INVALID_ARGUMENT
   */
  constructor(options: PostgresStorageOptions, now: string = serverTime) {
    this.#options = resolvePostgresOptions(options)
    const { schema, callTimeoutMs, clock } = this.#options
    const sql = makeSql(schema, now)
    this.#statements = makeStatements(sql)
    this.#reads = makeReads(sql)
    this.#ways = {
      add: fastAddStatement(sql),
      claims: fastClaimStatements(sql),
      extend: extendStatement(sql),
      cancel: fastCancelStatement(sql),
      notify: this.#statements.notify,
    }
    this.#clear = [
      ...tables.map((table) => ({ name: '', text: `DELETE FROM ${sql.at}${table}` })),
      { name: '', text: `UPDATE ${sql.at}types SET paused_since = NULL, paused_by = NULL` },
    ]
    this.#instance = clock.newId()
    this.#channel = channelOf(schema)
    this.#memory = { starts: new Starts(clock), linked: new Linked() }
    this.settings = { callTimeoutMs, claimsInFlight: 2, openTransactions: Math.max(1, this.#options.poolSize - 2) }
    this.kv = new PostgresKv(makeKvStatements(sql), (statement, values) => this.#query(statement, values))
  }

  // ── life ───────────────────────────────────────────────────────────────────────────────────────────────────────────

  connect(): Promise<void> {
    return this.#counted.connect()
  }

  disconnect(): Promise<void> {
    return this.#counted.disconnect()
  }

  clear(): Promise<void> {
    return this.#counted.whileConnected(async () => {
      await this.#counted.use().database.transaction(async (connection) => {
        for (const statement of this.#clear) await connection.query(statement, [])
      })
    })
  }

  async #openAll(): Promise<Open> {
    const { schema, clock } = this.#options
    const database = await openDatabase(this.#options)
    try {
      await migrate(database, schema, this.#options.migrate)
      const types = new Types(this.#statements, this.#hearing.listenersOf)
      const channel = this.#channel
      const statements = this.#statements
      const mover = new Mover({
        database,
        statements,
        types,
        clock,
        channel,
        instance: this.#instance,
        lockTimeoutMs: database.lockTimeoutMs,
        onMoved: (move) => this.#onMoved(move),
      })
      await this.#hearing.reopen(database)
      return { database, types, mover, hasClaimed: false }
    } catch (error) {
      await database.close()
      throw error
    }
  }

  #onMoved(move: PostgresMove): void {
    for (const { type, priority, runAt, order } of move.arrivals()) {
      this.#memory.starts.stands({ tid: type.tid, priority, runAt, order })
    }
  }

  async #query(statement: Statement, values: readonly Value[]): Promise<Row[]> {
    return this.#counted.use().database.query(statement, values)
  }

  // ── moves ──────────────────────────────────────────────────────────────────────────────────────────────────────────

  async add(jobs: readonly Contract.NewJob[], tx?: JoinableTransaction): Promise<Contract.AddVerdict[]> {
    checkNewJobs(this.driver, jobs)
    const { types } = this.#counted.use()
    const joined = this.#join(tx)
    await this.#register(jobs, [], joined)
    if (!joined && isFastAdd(jobs)) {
      const verdicts = await this.#fast((told, { database }) => fastAdd(database, this.#ways.add, types, jobs, told))
      if (verdicts) return verdicts
    }
    return this.#run({ want: (loaded) => wantNewJobs(loaded, types, jobs), rules: (move) => add(move, jobs) }, joined)
  }

  async claim(request: Contract.ClaimRequest): Promise<Contract.Claim> {
    const open = this.#counted.use()
    const { types } = open
    // Opened beside the first claim, so that the first heartbeat need not wait for it.
    if (!open.hasClaimed) open.database.reserved.query(nothing, []).catch(() => {})
    open.hasClaimed = true
    const { outcomes = [], slots } = request
    checkOutcomes(this.driver, outcomes)
    await this.#registerOutcomes(outcomes, request.types, undefined)
    const claimed = await this.#fast(async (told, { database }) => {
      const plain = plainOutcomes(outcomes, told, this.#memory, slots > 0)
      return plain && fastClaim(database, this.#ways, types, { ...request, outcomes: plain }, told, this.#memory)
    })
    if (claimed) return claimed
    const wanted = request.types.map(({ type, slots: own = Infinity }) => ({
      tid: types.tidOf(type)!,
      most: Math.min(own, slots, mostAtOnce),
    }))
    const prepare = async (loader: Loader): Promise<void> => {
      await loader.loadPauses(wanted.map(({ tid }) => tid))
      const unpaused = wanted.filter(({ tid }) => loader.loaded.pauses.get(tid) === undefined)
      await loader.loadLost(
        unpaused.map(({ tid, most }) => ({ tid, most: Math.max(most, lostAtOnce) })),
        null,
      )
      await loader.loadLines(unpaused.filter(({ most }) => most > 0))
    }
    const answer = await this.#run({
      want: (loaded) => wantOutcomes(loaded, types, outcomes),
      prepare,
      rules: (move) => claim(move, request),
      looksFirst: true,
    })
    for (const job of answer.jobs) {
      if (job.chainIndex > 0 || job.blockers.length > 0 || job.group !== undefined) this.#memory.linked.add(job)
    }
    return answer
  }

  async extend(leases: readonly Contract.Extension[]): Promise<Contract.LeaseVerdict[]> {
    const { types, database } = this.#counted.use()
    await types.find(
      database.reserved,
      leases.map(({ type }) => type),
    )
    const verdicts: (Contract.LeaseVerdict | undefined)[] = []
    for (const some of eachOnce(leases)) {
      verdicts.push(...(await extendFree(database.reserved, this.#ways.extend, types, some)))
    }
    if (!verdicts.includes(undefined)) return verdicts as Contract.LeaseVerdict[]
    const move = await this.#look(database.reserved, leases)
    return leases.map((lease, index) => verdicts[index] ?? whyNot(move, lease))
  }

  async settle(outcomes: readonly Contract.Outcome[], tx?: JoinableTransaction): Promise<Contract.SettleVerdict[]> {
    checkOutcomes(this.driver, outcomes)
    const { types } = this.#counted.use()
    const joined = this.#join(tx)
    await this.#registerOutcomes(outcomes, [], joined)
    if (!joined) {
      const settled = await this.#fast(async (told, { database }) => {
        const plain = plainOutcomes(outcomes, told, this.#memory, false)
        if (!plain) return undefined
        const request = { worker: '', slots: 0, types: [], outcomes: plain }
        return (await fastClaim(database, this.#ways, types, request, told, this.#memory))?.settled
      })
      if (settled) return [...settled]
    }
    const want = (loaded: Loaded): void => wantOutcomes(loaded, types, outcomes)
    const insertsNothing = outcomes.every((outcome) => outcomeJobs(outcome).length === 0)
    return this.#run({ want, rules: (move) => settle(move, outcomes), insertsNothing }, joined)
  }

  async recover(request: Contract.RecoverRequest): Promise<Contract.Recovered[]> {
    const { types, database } = this.#counted.use()
    await types.find(database, request.types)
    const most = Math.min(request.limit, mostRows)
    const { olderThanMs } = request
    return this.#run({
      prepare: async (loader) => {
        const tids = request.types.flatMap((type) => types.tidOf(type) ?? [])
        await loader.loadLost(
          tids.map((tid) => ({ tid, most })),
          olderThanMs === undefined ? null : loader.now - olderThanMs,
        )
      },
      rules: (move) => recover(move, request, (type) => move.set.lostOf(type as PostgresType)),
    })
  }

  async cancel(
    jobs: readonly Contract.JobRef[],
    options: Contract.CancelOptions = {},
  ): Promise<Contract.CancelVerdict[]> {
    const { types, database } = this.#counted.use()
    const [job] = jobs
    if (jobs.length === 1 && options.reason === undefined) {
      await types.find(database, [job!.type])
      const isDone = await this.#fast((told) => fastCancel(database, this.#ways.cancel, types, job!, told))
      if (isDone) return [{ verdict: 'cancelled' }]
    }
    return this.#runOn(jobs, (move) => cancel(move, jobs, options))
  }

  async revive(
    jobs: readonly Contract.JobRef[],
    options: Contract.ReviveOptions<JoinableTransaction> = {},
  ): Promise<Contract.ReviveVerdict[]> {
    return this.#runOn(jobs, (move) => revive(move, jobs, options), this.#join(options.tx))
  }

  async remove(
    jobs: readonly Contract.JobRef[],
    options: Contract.RemoveOptions<JoinableTransaction> = {},
  ): Promise<Contract.RemoveVerdict[]> {
    return this.#runOn(jobs, (move) => remove(move, jobs, options), this.#join(options.tx))
  }

  async pause(request: Contract.PauseRequest): Promise<void> {
    const { types, database } = this.#counted.use()
    const { type: name, group } = request
    await types.register(database, [{ type: name }])
    const tid = types.tidOf(name)!
    const { lockType, pauseType } = this.#statements
    await this.#run({
      prepare: async (loader) => {
        if (group !== undefined) return
        const [row] = await loader.connection.query(lockType, [tid])
        loader.loaded.pauses.set(tid, pausedOf(row![1]!, row![2]!))
      },
      rules: (move) => pause(move, move.typeOf(name)!, request),
      after: async (connection, move) => {
        const { paused } = move.typeOf(name)!
        if (group !== undefined) return
        await connection.query(pauseType, [tid, paused?.since ?? null, optionalText(paused?.by)])
      },
    })
  }

  async sweep(request: Contract.SweepRequest): Promise<Contract.Swept> {
    // Everything, if that is asked for: but a limit must be an integer.
    const limit = Math.min(request.limit, mostRows)
    const { sweepKeys } = this.#statements
    let expired: number[] = []
    let marks: Row | undefined
    const swept = await this.#run({
      prepare: async (loader) => {
        expired = await loadExpired(loader.connection, this.#statements, loader, limit)
      },
      rules: (move) => sweep(move, expired, limit),
      after: async (connection, { now }) => {
        ;[marks] = await connection.query(sweepKeys, [now, limit])
      },
    })
    const entries = await this.kv.sweep(limit)
    const more = swept.more || entries.more || marks![1] === 'true'
    return { jobs: swept.jobs, marks: Number(marks![0]), entries: entries.swept, more }
  }

  // ── reads ──────────────────────────────────────────────────────────────────────────────────────────────────────────

  async get(
    jobs: readonly (Contract.JobRef | Contract.KeyRef)[],
    { parts = [], lock = false, tx }: Contract.GetOptions<JoinableTransaction> = {},
  ): Promise<(Contract.JobRecord | undefined)[]> {
    const { types, database } = this.#counted.use()
    const joined = this.#join(tx)
    const refs = jobs.filter((job) => 'id' in job)
    // Keys are rarely asked for: the rules find out who holds them.
    if (refs.length < jobs.length) {
      await types.find(
        joined ? database.reserved : database,
        jobs.map(({ type }) => type),
      )
      const want = (loaded: Loaded): void => wantJobs(loaded, types, refs)
      return this.#run({ want, rules: (move) => get(move, jobs, parts), looksFirst: !lock }, joined)
    }
    if (lock && joined) return this.#lock(refs, parts, joined)
    return get(await this.#look(joined?.connection ?? database, refs, parts), refs, parts)
  }

  async list(query: Contract.ListQuery): Promise<Contract.Page> {
    checkListQuery(query)
    const { types, database } = this.#counted.use()
    return list(database, this.#reads, types, query)
  }

  async count(query: Contract.CountQuery): Promise<Contract.Counts> {
    return count(this.#counted.use().database, this.#reads, query)
  }

  async nextDueAt(wanted: readonly Contract.ClaimType[]): Promise<{ at: number; now: number } | undefined> {
    const { types, database } = this.#counted.use()
    await types.find(
      database,
      wanted.map(({ type }) => type),
    )
    const tids = wanted.flatMap(({ type }) => types.tidOf(type) ?? [])
    if (tids.length === 0) return undefined
    const { restMs, isInDoubt } = this.#memory.starts
    const [row] = await database.query(this.#reads.nextDueAt, [arrayOf(tids), ...this.#memory.starts.cells(tids)])
    const now = Number(row![0])
    // Where the heads of the lines were passed over, they are worth a look when that may cost something again.
    const at = Math.min(Number(row![1] ?? Infinity), isInDoubt && restMs > 0 ? now + restMs : Infinity)
    return at === Infinity ? undefined : { at: Math.max(at, now), now }
  }

  // ── hints ──────────────────────────────────────────────────────────────────────────────────────────────────────────

  async listen(
    topics: readonly Contract.Topic[],
    onSignal: (signal: Contract.Signal) => void,
  ): Promise<Contract.Unlisten> {
    return this.#hearing.listen(this.#counted.use().database, topics, onSignal)
  }

  #hear(database: Database): Promise<() => Promise<void>> {
    const onMessage = (payload: string): void => {
      const signals = decodeHints(payload, this.#instance)
      if (signals) this.#memory.starts.isInDoubt = true
      if (signals === 'all') this.#hearing.notifyAll()
      else for (const signal of signals ?? []) this.#hearing.notify(signal)
    }
    return database.listen(this.#channel, onMessage, () => this.#hearing.notifyAll())
  }

  // ── transactions ───────────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * Runs a function in a transaction: what it does with `tx.query`, and the moves that are given `tx`, happen together or
   * not at all. Moves can join a transaction of the client library as well: pass that as `tx`.
   */
  async transaction<T>(run: (tx: PostgresTransaction) => Promise<T>): Promise<T> {
    const { database } = this.#counted.use()
    let moves: readonly PostgresMove[] = []
    const begin = async (connection: OpenTransaction): Promise<T> => {
      const tx = new PostgresTransaction(connection, this)
      try {
        return await run(tx)
      } finally {
        moves = PostgresTransaction.end(tx)
      }
    }
    const answer = await database.transaction(begin, { limitsLocks: true })
    for (const move of moves) {
      this.#onMoved(move)
      move.send()
    }
    return answer
  }

  #join(tx: JoinableTransaction | undefined): Joined | undefined {
    if (tx === undefined) return undefined
    if (tx instanceof PostgresTransaction) return PostgresTransaction.join(tx, this)
    if (tx === null) throw invalidArgument('tx', 'a transaction', tx)
    return { connection: this.#counted.use().database.joined(tx) }
  }

  #run<T>(call: Call<T>, joined?: Joined): Promise<T> {
    return this.#counted.use().mover.run(call, joined)
  }

  /** A move on jobs that are there already. */
  async #runOn<T>(refs: readonly Contract.JobRef[], rules: (move: PostgresMove) => T, joined?: Joined): Promise<T> {
    const { types, database } = this.#counted.use()
    await types.find(
      joined ? database.reserved : database,
      refs.map(({ type }) => type),
    )
    return this.#run({ want: (loaded) => wantJobs(loaded, types, refs), rules }, joined)
  }

  /** Reads jobs that nobody else may change until the transaction ends. Others may change those who wait for them. */
  async #lock(
    refs: readonly Contract.JobRef[],
    parts: readonly Contract.RecordPart[],
    joined: Joined,
  ): Promise<(Contract.JobRecord | undefined)[]> {
    const { types, database } = this.#counted.use()
    await types.find(
      database.reserved,
      refs.map(({ type }) => type),
    )
    const want = (loaded: Loaded): void => wantAlone(loaded, types, refs)
    return this.#run({ want, rules: (move) => get(move, refs, parts), insertsNothing: true, keepsLocked: true }, joined)
  }

  /** Jobs as they are at one instant, with the first and last of their chains. */
  async #look(
    connection: Pick<Database, 'query'>,
    refs: readonly Contract.JobRef[],
    parts: readonly Contract.RecordPart[] = [],
  ): Promise<PostgresMove> {
    const { types } = this.#counted.use()
    await types.find(
      connection,
      refs.map(({ type }) => type),
    )
    const loaded = new Loaded()
    wantJobs(loaded, types, refs)
    const names = [...loaded.want.jobs.values()]
    const rows = await connection.query(this.#statements.look, [
      arrayOf(names.map(({ tid }) => tid)),
      arrayOf(names.map(({ key }) => key)),
      '{}',
      ...asked(parts),
    ])
    for (const [, ...row] of rows) if (row[0] !== null) loaded.keepJob(row.slice(0, -1), false)
    await types.findByTid(
      connection,
      rows.flatMap((row) => (row[2] === null ? [] : [Number(row[2])])),
    )
    return new PostgresMove(new WorkingSet(loaded, types, true), Number(rows[0]![0]))
  }

  /** A short way: what it tells is told once it is done. */
  async #fast<T>(run: (told: Told, open: Open) => Promise<T | undefined>): Promise<T | undefined> {
    const told = new Told(this.#channel, this.#instance, this.#hearing.listenersOf)
    const answer = await run(told, this.#counted.use())
    if (answer !== undefined) told.end()
    return answer
  }

  /** Types and priorities of new jobs, and types of their blockers. Beside the user's transaction, which may hold the pool. */
  async #register(
    jobs: readonly Pick<Contract.NewJob, 'type' | 'priority' | 'blockers'>[],
    others: readonly string[],
    joined: Joined | undefined,
  ): Promise<void> {
    const { types, database } = this.#counted.use()
    const connection = joined ? database.reserved : database
    await types.register(connection, jobs)
    await types.find(connection, [...others, ...typesOfBlockers(jobs)])
  }

  async #registerOutcomes(
    outcomes: readonly Contract.Outcome[],
    claimed: readonly Contract.ClaimType[],
    joined: Joined | undefined,
  ): Promise<void> {
    const jobs = [...outcomes.flatMap(outcomeJobs), ...claimed.map(({ type }) => ({ type }))]
    await this.#register(jobs, typesOfOutcomes(outcomes), joined)
  }
}
