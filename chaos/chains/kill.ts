// One run over chains: they are started at an even pace while workers are killed; then they are drained and checked.

import { join } from 'node:path'
import { type Storage } from 'holdfast'
import { type Client, createClient, type DefinitionsOf } from 'holdfast/chains'
import { processesEndedWell } from '../checks/processes-ended-well.ts'
import type { Print } from '../chaos.ts'
import { retryUntilDone, sleep } from '../child.ts'
import { driverNamed } from '../drivers.ts'
import type { Entry } from '../entries.ts'
import type { Flags } from '../flags.ts'
import { historyOf, type Violation, violation } from '../history.ts'
import { type Log, openLog, readLogs } from '../log.ts'
import { slotsOf, Supervisor } from '../supervisor.ts'
import { checkChains, type FinalChain, type FinalJob } from './checks.ts'
import { makeTables, matchRows, type Match, writeRow } from './rows.ts'
import { idOf, partsOf, startOrder, stockOf, types } from './types.ts'

type ChainClient = Client<DefinitionsOf<typeof types>, unknown>

export interface ChainsRun {
  readonly entries: readonly Entry[]
  readonly violations: readonly Violation[]
  readonly chains: readonly FinalChain[]
  readonly jobs: readonly FinalJob[]
  readonly rows: Readonly<Record<string, Match>> | undefined
  /** Orders that ended before the faults did. */
  readonly endedUnderFaults: number
  readonly drainMs: number
}

/** Time limit for live chains after the faults. */
const longestDrainMs = 600_000

/** @param directory an empty directory for the storage and the logs */
export async function killChains(flags: Flags, directory: string, print: Print): Promise<ChainsRun> {
  const driver = driverNamed(flags.driver)
  const service = await driver.serve?.(slotsOf(flags))
  const storage = await driver.open(directory, service?.url)
  const endSession = driver.endSession ? () => driver.endSession!(storage) : service?.disturb
  const supervisor = new Supervisor({ ...flags, directory, service, endSession, workerScript: 'chains/worker.ts' })
  const log = openLog(join(directory, 'logs', 'starter.log'), 'starter')
  const client = await createClient({ storage, jobTypeRegistry: types })
  try {
    if (storage.transaction) await makeTables(storage)
    await supervisor.start()
    const starter = new Starter(client, storage, log, flags)
    const progress = setInterval(
      () => {
        const { kills, restarts } = supervisor.counts
        print(`chains started ${starter.started}, ended ${starter.ended}; kills ${kills}, restarts ${restarts}`, true)
      },
      Math.max(2_000, flags.seconds * 50),
    )
    const starting = starter.start()
    await supervisor.runFaults(flags.seconds * 1_000)
    const endedUnderFaults = starter.ended
    clearInterval(progress)
    print('no more kills; draining')
    const begun = performance.now()
    const violations: Violation[] = []
    if (supervisor.isBroken) violations.push(violation('exit', 'processes ended by their own errors'))
    else {
      await starting
      violations.push(...(await starter.over(longestDrainMs)))
    }
    const drainMs = performance.now() - begun
    if (!(await supervisor.finish('worker', 30_000))) violations.push(violation('drain', 'a worker did not end'))
    await supervisor.end()
    const { chains, jobs } = await listed(client)
    const rows = storage.transaction && (await matchRows(storage))
    const entries = readLogs(join(directory, 'logs'))
    violations.push(
      ...checkChains({ orders: flags.chains, chains, jobs, entries }),
      ...processesEndedWell(historyOf(entries, [], {})),
      ...Object.entries(rows ?? {}).flatMap(([table, match]) => unmatched(table, match)),
    )
    await client.close()
    for (const problem of (await driver.inspect?.(directory)) ?? []) violations.push(violation('integrity', problem))
    return { entries, violations, chains, jobs, rows, endedUnderFaults, drainMs }
  } finally {
    await supervisor.end()
    await client.close()
    await service?.stop(join(directory, 'server'))
  }
}

/** Starts orders at an even pace and waits for each. */
class Starter {
  started = 0
  ended = 0
  readonly #client: ChainClient
  readonly #storage: Storage
  readonly #log: Log
  readonly #flags: Flags
  readonly #waits: Promise<Violation[]>[] = []
  readonly #giveUp = new AbortController()

  constructor(client: ChainClient, storage: Storage, log: Log, flags: Flags) {
    this.#client = client
    this.#storage = storage
    this.#log = log
    this.#flags = flags
  }

  async start(): Promise<void> {
    const { chains, seconds } = this.#flags
    const begun = performance.now()
    const pauseMs = (seconds * 1_000) / chains
    const under = new Set<Promise<void>>()
    for (const [index, order] of startOrder(chains).entries()) {
      await sleep(Math.max(0, begun + index * pauseMs - performance.now()))
      const one = this.#startOne(order).finally(() => under.delete(one))
      under.add(one)
      if (under.size >= 20) await Promise.race(under)
    }
    await Promise.all(under)
  }

  /** Returns the chains that failed or did not end in time. */
  async over(withinMs: number): Promise<Violation[]> {
    const timer = setTimeout(() => this.#giveUp.abort(new Error('the time limit was reached')), withinMs)
    const found = await Promise.all(this.#waits)
    clearTimeout(timer)
    return found.flat()
  }

  /** Starts an order under its own id, so that a repeated start makes one chain. */
  async #startOne(order: number): Promise<void> {
    const id = idOf('order', order)
    await retryUntilDone(this.#log, async () => {
      const stock = await this.#client.startJobChain({
        typeName: 'stock',
        input: stockOf(order),
        id: idOf('stock', stockOf(order)),
      })
      const ask = (tx?: unknown) =>
        this.#client.startJobChain({
          typeName: 'order',
          input: order,
          id,
          startBlockers: async ({ startJobChain }) => {
            const [one, two] = partsOf(order)
            return [
              await startJobChain({ typeName: 'part', input: one, id: idOf('part', one) }),
              await startJobChain({ typeName: 'part', input: two, id: idOf('part', two) }),
              stock,
            ]
          },
          ...(tx === undefined ? {} : { tx }),
        })
      if (!this.#storage.transaction) return ask()
      return this.#storage.transaction(async (tx) => {
        const { deduplicated } = await ask(tx)
        // If the reply to the commit was lost, its row exists with it.
        if (!deduplicated) await writeRow(tx, 'started', id)
      })
    })
    this.started++
    this.#waits.push(this.#wait(id))
  }

  async #wait(id: string): Promise<Violation[]> {
    const options = { timeoutMs: 3_600_000, pollMs: 5_000, signal: this.#giveUp.signal }
    try {
      await this.#client.waitForJobChainCompletion({ typeName: 'order', id }, options)
      this.ended++
      return []
    } catch (error) {
      return [violation('live', `${id}: ${(error as Error).message}`)]
    }
  }
}

async function listed(client: ChainClient): Promise<Pick<ChainsRun, 'chains' | 'jobs'>> {
  const chains: FinalChain[] = []
  const jobs: FinalJob[] = []
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page = await client.listJobChains({ limit: 1_000, cursor: cursor ?? undefined })
    chains.push(...page.items)
    cursor = page.nextCursor
  }
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page = await client.listJobs({ limit: 1_000, cursor: cursor ?? undefined })
    jobs.push(...page.items)
    cursor = page.nextCursor
  }
  return { chains, jobs }
}

function unmatched(table: string, { rows, jobs, ...wrong }: Match): Violation[] {
  return Object.entries(wrong).flatMap(([what, count]) =>
    count > 0 ? [violation('rows', `${table}, ${rows} rows beside ${jobs} jobs: ${what} ${count}`)] : [],
  )
}
