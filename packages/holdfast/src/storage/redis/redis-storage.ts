// The Redis driver: fleets of workers on one server or cluster, with the lowest latency. Every verb is one script (lua/),
// which runs alone on the server and asks it for the time; here requests are packed and answers told.
// Longer than others: it has every verb of the contract, a few lines each.

import { unsupported } from '../../errors.ts'
import { checkListQuery, checkNewJobs, checkOutcomes } from '../check.ts'
import { Counted } from '../ref-counted.ts'
import type * as Contract from '../storage.ts'
import {
  addVerdict,
  claimedJob,
  endedOf,
  isKnown,
  jobRecord,
  leaseVerdict,
  recoveredOf,
  removeVerdict,
  settleVerdict,
  text,
  typeCounts,
} from './codec/answers.ts'
import { Connection } from './connection/connection.ts'
import { RedisKv } from './verbs/kv.ts'
import { list } from './verbs/list.ts'
import { Listening } from './connection/listening.ts'
import { type RedisStorageOptions, type ResolvedRedisOptions, resolveRedisOptions } from './redis-options.ts'
import type { Packed } from './codec/pack.ts'
import { encodeType, packAdd, packed, packOutcomes, packWhen } from './codec/requests.ts'
import { type Script, type Scripts, serverScripts } from './scripts.ts'
import { type Unpacked, unpack } from './codec/unpack.ts'

const cancelNames = { 3: 'processing', 5: 'completed', 6: 'failed', 7: 'cancelled' } as const
const reviveNames = ['revived', 'moved', 'not_revivable', 'conflict', 'not_found'] as const

type List = Unpacked[]

export class RedisStorage implements Contract.Storage<never> {
  readonly driver = 'redis'
  readonly settings: Contract.StorageSettings
  readonly kv: RedisKv
  readonly #options: ResolvedRedisOptions
  readonly #scripts: Scripts
  /** What every key begins with; the braces keep them all in one slot of a cluster. */
  readonly #base: string
  readonly #listening: Listening
  readonly #counted = new Counted<Connection>({
    name: 'Redis',
    open: () => this.#open(),
    close: (connection) => {
      this.#listening.closed()
      return connection.close()
    },
  })

  /**
   * @param scripts for tests: with a time that is set by hand
   * @throws TypeError INVALID_ARGUMENT
   */
  constructor(options?: RedisStorageOptions, scripts: Scripts = serverScripts) {
    this.#options = resolveRedisOptions(options)
    this.#scripts = scripts
    const { prefix, callTimeoutMs, pollMs } = this.#options
    this.#base = `{${prefix}}:`
    this.#listening = new Listening(scripts.watch, this.#base, this.#options.clock)
    this.settings = { callTimeoutMs, pollMs, claimsInFlight: 2, addsPerCall: 50 }
    this.kv = new RedisKv(scripts, (script, arg) =>
      this.#run(script, [arg], script.name !== 'kvGet' && script.name !== 'kvList'),
    )
  }

  get features(): Contract.StorageFeatures {
    return {
      transactions: false,
      durable: this.#counted.opened?.durable ?? false,
      sharedByProcesses: true,
      distributed: true,
      searchIndexed: false,
      fleetEvents: true,
    }
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
      await this.#counted.use().deleteAll(this.#base)
    })
  }

  async #open(): Promise<Connection> {
    const connection = new Connection(this.#options)
    await connection.open()
    try {
      await this.#listening.reopen(connection)
    } catch (error) {
      this.#listening.closed()
      await connection.close()
      throw error
    }
    return connection
  }

  async #run(script: Script, args: readonly (Buffer | string)[], durable = false): Promise<Buffer | null> {
    return this.#counted.use().run(script, this.#base, args, { durable })
  }

  /** Of a script that answers with a list, now first. */
  async #ask(script: Script, request: Buffer | string, durable = false): Promise<List> {
    return unpack((await this.#run(script, [request], durable))!) as List
  }

  // ── moves ──────────────────────────────────────────────────────────────────────────────────────────────────────────

  async add(jobs: readonly Contract.NewJob[], tx?: never): Promise<Contract.AddVerdict[]> {
    this.#noTx(tx)
    checkNewJobs(this.driver, jobs)
    const answer = (await this.#run(this.#scripts.add, packAdd(jobs), true))!
    const [now, verdicts] = unpack(answer) as List
    if (verdicts) return (verdicts as List).map(addVerdict)
    // All of them are new.
    return jobs.map(({ type, id, token, runAt = 0, delayMs = 0 }) => {
      const isDue = delayMs <= 0 && runAt <= (now as number)
      const state = isDue ? 'queued' : 'scheduled'
      return { verdict: 'added', job: { type, id, token, state, createdAt: now as number } }
    })
  }

  async claim(request: Contract.ClaimRequest): Promise<Contract.Claim> {
    const { worker, label, slots, types, outcomes = [] } = request
    checkOutcomes(this.driver, outcomes)
    const wanted = types.map(({ type, leaseMs, slots: own, maxAttempts }) => {
      return [type, leaseMs, own, maxAttempts, encodeType(type)]
    })
    const args = [packed([worker, label, Math.min(slots, 100_000), wanted])]
    if (outcomes.length > 0) args.push(...packOutcomes(outcomes))
    const { claim } = this.#scripts
    const [first, ...records] = await this.#counted.use().runForList(claim, this.#base, args, {
      durable: outcomes.length > 0,
    })
    const [now, settled, recovered, ended, ids, kinds, due] = unpack(first!) as List
    return {
      jobs: (ids as Buffer[]).map((id, index) => {
        const { type } = types[kinds ? (kinds as number[])[index]! - 1 : 0]!
        return claimedJob(type, text(id), records[index]!)
      }),
      recovered: (recovered as List).map(recoveredOf),
      ended: (ended as List).map(endedOf),
      settled: (settled as List).map(settleVerdict),
      nextDue: due === undefined ? undefined : dueAt(due, now),
    }
  }

  async extend(leases: readonly Contract.Extension[]): Promise<Contract.LeaseVerdict[]> {
    const asked = leases.map(({ type, id, worker, attempt, leaseMs }) => [type, id, worker, attempt, leaseMs])
    const [, answers] = await this.#ask(this.#scripts.extend, packed(asked))
    return (answers as List).map(leaseVerdict)
  }

  async settle(outcomes: readonly Contract.Outcome[], tx?: never): Promise<Contract.SettleVerdict[]> {
    this.#noTx(tx)
    checkOutcomes(this.driver, outcomes)
    const answer = await this.#run(this.#scripts.settle, packOutcomes(outcomes), true)
    const [, verdicts] = unpack(answer!) as List
    return (verdicts as List).map(settleVerdict)
  }

  async recover({ types, limit, olderThanMs }: Contract.RecoverRequest): Promise<Contract.Recovered[]> {
    const asked = packed([types, Math.min(limit, 100_000), olderThanMs])
    const [, recovered] = await this.#ask(this.#scripts.recover, asked)
    return (recovered as List).map(recoveredOf)
  }

  async cancel(
    jobs: readonly Contract.JobRef[],
    { chains, abort, force, reason }: Contract.CancelOptions = {},
  ): Promise<Contract.CancelVerdict[]> {
    const asked = packed([packRefs(jobs), chains, abort, force, reason])
    const [, answers] = await this.#ask(this.#scripts.cancel, asked, true)
    return (answers as (List | false)[]).map((answer) => {
      if (answer === false) return { verdict: 'not_found' }
      const [state, ended] = answer
      const verdict = state === -1 ? 'cancelling' : cancelNames[state as keyof typeof cancelNames]
      return ended ? { verdict, ended: (ended as List).map(endedOf) } : { verdict }
    })
  }

  async revive(
    jobs: readonly Contract.JobRef[],
    { runAt, tx }: Contract.ReviveOptions<never> = {},
  ): Promise<Contract.ReviveVerdict[]> {
    this.#noTx(tx)
    const [, answers] = await this.#ask(this.#scripts.revive, packed([packRefs(jobs), packWhen({ runAt })]), true)
    return (answers as number[]).map((answer) => ({ verdict: reviveNames[answer]! }))
  }

  async remove(
    jobs: readonly Contract.JobRef[],
    { trees, afterMs, tx }: Contract.RemoveOptions<never> = {},
  ): Promise<Contract.RemoveVerdict[]> {
    this.#noTx(tx)
    const [, answers] = await this.#ask(this.#scripts.remove, packed([packRefs(jobs), trees, afterMs]), true)
    return (answers as List[]).map(removeVerdict)
  }

  async pause({ type, group, paused, by }: Contract.PauseRequest): Promise<void> {
    await this.#run(this.#scripts.pause, [packed([type, group, paused, by])], true)
  }

  async sweep({ limit }: Contract.SweepRequest): Promise<Contract.Swept> {
    const [, jobs, entries, more] = await this.#ask(this.#scripts.sweep, String(Math.min(limit, 100_000)))
    // Marks expire by themselves.
    return { jobs: jobs as number, marks: 0, entries: entries as number, more: more as boolean }
  }

  // ── reads ──────────────────────────────────────────────────────────────────────────────────────────────────────────

  async get(
    jobs: readonly (Contract.JobRef | Contract.KeyRef)[],
    { parts = [], tx }: Contract.GetOptions<never> = {},
  ): Promise<(Contract.JobRecord | undefined)[]> {
    this.#noTx(tx)
    const asked = Object.fromEntries(parts.map((part) => [part, true]))
    const [, answers] = await this.#ask(this.#scripts.get, packed([jobs.map(packRef), asked]))
    return (answers as List).map((answer) => (answer === false ? undefined : jobRecord(answer)))
  }

  async list(query: Contract.ListQuery): Promise<Contract.Page> {
    checkListQuery(this.driver, query)
    return list(
      {
        types: () => this.#typeNames(),
        idsOf: (type) => this.#idsOf(type),
        get: (refs, parts) => this.get(refs, { parts }),
      },
      query,
    )
  }

  async #typeNames(): Promise<string[]> {
    const [, , names] = await this.#ask(this.#scripts.scan, packed([false]))
    return (names as List).map(text)
  }

  /** Those in processing twice: who leaves it while the others are read may have been missed there. */
  async #idsOf(type: string): Promise<Set<string>> {
    const [, , priorities] = await this.#ask(this.#scripts.scan, packed([type, 'prios']))
    const lines = (priorities as number[]).map((priority) => `line:${priority}`)
    const ids = new Set<string>()
    for (const set of ['leases', 'blocked', 'aside', ...lines, 'leases', 'done:5', 'done:6', 'done:7']) {
      let cursor = '0'
      do {
        const [, next, members] = await this.#ask(this.#scripts.scan, packed([type, set, cursor]))
        for (const member of members as Buffer[]) ids.add(text(set.startsWith('line:') ? member.subarray(6) : member))
        cursor = text(next)
      } while (cursor !== '0')
    }
    return ids
  }

  async count({ types }: Contract.CountQuery): Promise<Contract.Counts> {
    const [now, answers] = await this.#ask(this.#scripts.count, packed(types ?? false))
    const counts = (answers as List[]).map(typeCounts)
    return { now: now as number, types: types ? counts : counts.filter(isKnown) }
  }

  async nextDueAt(types: readonly Contract.ClaimType[]): Promise<{ at: number; now: number } | undefined> {
    const [now, at] = await this.#ask(
      this.#scripts.nextDueAt,
      packed(types.flatMap(({ type }) => [type, encodeType(type)])),
    )
    return dueAt(at, now) ?? undefined
  }

  // ── hints ──────────────────────────────────────────────────────────────────────────────────────────────────────────

  async listen(
    topics: readonly Contract.Topic[],
    onSignal: (signal: Contract.Signal) => void,
  ): Promise<Contract.Unlisten> {
    return this.#listening.listen(this.#counted.use(), topics, onSignal)
  }

  #noTx(tx: unknown): void {
    if (tx !== undefined) throw unsupported(this.driver, 'transactions')
  }
}

/** A key is told from an id by what follows it. */
const packRef = (ref: Contract.JobRef | Contract.KeyRef): Packed =>
  'key' in ref ? [ref.type, ref.key, true] : [ref.type, ref.id]

const packRefs = (refs: readonly Contract.JobRef[]): string[][] => refs.map(({ type, id }) => [type, id])

const dueAt = (at: Unpacked, now: Unpacked): { at: number; now: number } | null =>
  at === false ? null : { at: at as number, now: now as number }
