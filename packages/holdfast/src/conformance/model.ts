// The model test: random histories on a driver, each step held against the reference (reference.ts).
// A history that fails is shrunk to a short one and printed as the calls that it made.

import type FastCheck from 'fast-check'
import { systemClock } from '../clock.ts'
import { HoldfastError, isHoldfastError } from '../errors.ts'
import type { RecordPart, Storage } from '../storage/storage.ts'
import type { Subject } from './case.ts'
import { type Command, commandsOf, types } from './commands.ts'
import { type KvCommand, kvCommandsOf, runKv } from './kv-model.ts'
import { emptyWorld, nameOfRef, type Seen, show, type World } from './reference.ts'
import { compareCounts, compareNextDueAt, compareRecord } from './reference/compare.ts'
import { steps } from './reference/steps.ts'
import { type Client, universe } from './reference/requests.ts'

export interface TestModelOptions {
  /** An empty storage for each history. */
  readonly create: () => Subject | Promise<Subject>
  /** How many histories. */
  readonly runs: number
  /** To repeat a run. @default a random one */
  readonly seed?: number
  /** To repeat only the history that failed, as its error says. */
  readonly path?: string
  /** Look for the shortest history that fails. @default true */
  readonly shrink?: boolean
  /** Told of the progress, now and then. */
  readonly log?: (line: string) => void
}

/** A history that no sound storage could have. */
export class ModelViolation extends Error {
  readonly seed: number
  readonly path: string
  /** The calls of the shortest history found, the last of which went wrong. */
  readonly commands: readonly string[]

  constructor(cause: unknown, found: { seed: number; path: string; commands: readonly string[] }) {
    const { seed, path, commands } = found
    const what = cause instanceof Error ? cause.message : String(cause)
    super(`${what}\n  seed ${seed}, path '${path}', after\n${commands.map((line) => `    ${line}`).join('\n')}`, {
      cause,
    })
    this.name = 'ModelViolation'
    this.seed = seed
    this.path = path
    this.commands = commands
  }
}

type History = { readonly jobs: readonly Command[] } | { readonly kv: readonly KvCommand[] }

/** Rejects with a ModelViolation, or answers with how much was done. */
export async function testModel(
  options: TestModelOptions,
): Promise<{ readonly runs: number; readonly commands: number; readonly seed: number }> {
  const fc = await loadFastCheck()
  const { create, runs, log, shrink = true } = options
  const seed = options.seed ?? Math.floor(systemClock.random() * 2 ** 31)
  const histories: FastCheck.Arbitrary<History> = fc.oneof(
    { weight: 9, arbitrary: fc.record({ jobs: commandsOf(fc) }) },
    { weight: 1, arbitrary: fc.record({ kv: kvCommandsOf(fc) }) },
  )
  let done = 0
  let commands = 0
  const start = systemClock.monotonic()
  const property = fc.asyncProperty(histories, async (history) => {
    commands += await run(create, history)
    if (++done > runs || done % Math.ceil(runs / 10) !== 0) return
    const perSecond = Math.round((done * 1000) / (systemClock.monotonic() - start))
    log?.(`model: ${done} of ${runs} histories, ${commands} commands, ${perSecond} histories/s`)
  })
  const details = await fc.check(property, { numRuns: runs, seed, path: options.path ?? '', endOnFailure: !shrink })
  if (!details.failed) return { runs: details.numRuns, commands, seed }
  const { counterexample, counterexamplePath } = details
  const lines: string[] = []
  // Once more, to see what it says.
  const cause = await run(create, counterexample![0], lines).catch((error: unknown) => error)
  throw new ModelViolation(cause ?? details.errorInstance, { seed, path: counterexamplePath!, commands: lines })
}

async function loadFastCheck(): Promise<typeof FastCheck> {
  try {
    return (await import('fast-check')).default
  } catch (cause) {
    if ((cause as { code?: string }).code !== 'ERR_MODULE_NOT_FOUND') throw cause
    throw new HoldfastError(
      'MISSING_DEPENDENCY',
      'the model test needs fast-check: npm install --save-dev fast-check',
      { cause },
    )
  }
}

/** Answers with the number of commands. @param lines filled with what is called */
async function run(create: TestModelOptions['create'], history: History, lines?: string[]): Promise<number> {
  const subject = await create()
  await subject.storage.connect()
  try {
    return 'kv' in history ? await runKv(subject, history.kv, lines) : await runJobs(subject, history.jobs, lines)
  } finally {
    await subject.storage.disconnect()
    await subject.close?.()
  }
}

async function runJobs(subject: Subject, commands: readonly Command[], lines?: string[]): Promise<number> {
  const history = new JobHistory(subject, lines)
  await history.begin()
  for (const command of commands)
    await (steps[command.kind] as (h: JobHistory, c: Command) => Promise<void>)(history, command)
  return commands.length
}

/** One history: the storage, the reference beside it, and what the callers know. */
export class JobHistory {
  readonly storage: Storage
  readonly unit: number
  readonly client: Client
  world: World = emptyWorld(0)
  readonly #advance: (ms: number) => Promise<void>
  readonly #lines: string[] | undefined
  readonly #seen = new Map<string, Awaited<ReturnType<Storage['get']>>[number]>()

  constructor({ storage, advance }: Subject, lines: string[] | undefined) {
    this.storage = storage
    this.unit = advance ? 1_000 : 100
    this.client = { unit: this.unit, made: 0, leases: [], adds: [], settles: [] }
    this.#advance = advance ?? ((ms) => new Promise((resolve) => systemClock.after(ms, resolve)))
    this.#lines = lines
  }

  readonly seen: Seen = (job) => this.#seen.get(nameOfRef(job))

  async begin(): Promise<void> {
    this.world.now = (await this.storage.count({ types: [] })).now
  }

  async advance(ms: number): Promise<void> {
    this.#lines?.push(`advance(${ms})`)
    await this.#advance(ms)
    await this.begin()
    await this.#look()
    this.#compare()
  }

  /**
   * Makes a call and holds it against the reference.
   *
   * @param apply does the same to the reference, and checks the answer; without one it goes by what it sees
   * @param lost nobody hears the answer
   */
  async call<Answer>(
    name: string,
    args: readonly unknown[],
    ask: () => Promise<Answer>,
    apply: (answer: Answer | undefined) => void,
    lost = false,
  ): Promise<Answer | undefined> {
    const lines = this.#lines
    lines?.push(`${name}(${args.map(show).join(', ')})${lost ? ', whose answer is lost' : ''}`)
    let answer: Answer | undefined
    let unknown = false
    try {
      answer = await ask()
    } catch (error) {
      if (!isHoldfastError(error, 'STORAGE_ERROR') || !(error as { maybeApplied?: boolean }).maybeApplied) throw error
      unknown = true
    }
    if (lines && !lost) lines.push(unknown ? '  → unknown' : `  → ${show(answer)}`)
    await this.#look()
    this.world.moves++
    if (unknown) this.#applyOrNot(() => apply(undefined))
    else apply(lost ? undefined : answer)
    this.#compare()
    return lost ? undefined : answer
  }

  /** Nobody knows whether it happened: what is there must be one or the other. */
  #applyOrNot(apply: () => void): void {
    const before = structuredClone(this.world)
    try {
      apply()
      this.#compare()
    } catch {
      this.world = before
    }
  }

  async #look(): Promise<void> {
    const records = await this.storage.get(universe, { parts })
    for (const [index, ref] of universe.entries()) this.#seen.set(nameOfRef(ref), records[index])
    this.#counts = await this.storage.count({ types })
    this.#next = await this.storage.nextDueAt(claimTypes)
    this.world.slack = this.#counts.now - this.world.now
  }
  #counts!: Awaited<ReturnType<Storage['count']>>
  #next: Awaited<ReturnType<Storage['nextDueAt']>>

  #compare(): void {
    const { world } = this
    for (const ref of universe) compareRecord(world, ref, this.seen(ref))
    compareCounts(world, types, this.#counts)
    compareNextDueAt(world, types, this.#next)
    world.now += world.slack
    world.slack = 0
  }
}

const parts: readonly RecordPart[] = ['payload', 'result', 'error', 'attempts', 'blockers', 'tail']
const claimTypes = types.map((type) => ({ type, leaseMs: 1_000 }))
