// The model test: random histories on a driver, each step compared with the reference (reference.ts).
// A history that fails is shrunk to a short one and printed as its calls.

import type FastCheck from 'fast-check'
import { systemClock } from 'holdfast/storage'
import { HoldfastError } from 'holdfast'
import type { Subject } from '../case.ts'
import { type Command, commandsOf, limitsOf } from './commands.ts'
import { type KvCommand, kvCommandsOf, runKv } from './kv-model.ts'
import { JobHistory } from './reference/history.ts'
import { runCommand } from './reference/run-command.ts'

export interface TestModelOptions {
  /** Returns an empty storage; called for each history. */
  readonly create: () => Subject | Promise<Subject>
  /** Number of histories. */
  readonly runs: number
  /** Seed of the run, to repeat it. @default a random one */
  readonly seed?: number
  /** Path of one history, from a ModelViolation, to repeat only that one. */
  readonly path?: string
  /** Whether to search for the shortest history that fails. @default true */
  readonly shrink?: boolean
  /** Called with a line of progress, about ten times a run. */
  readonly log?: (line: string) => void
}

/** A history in which the storage broke its contract. */
export class ModelViolation extends Error {
  readonly seed: number
  readonly path: string
  /** The calls of the shortest history found; the last one shows the violation. */
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

type History =
  | { readonly limits: readonly number[]; readonly jobs: readonly Command[] }
  | { readonly kv: readonly KvCommand[] }

/**
 * Runs random histories on the storage and on the reference, and returns how many.
 * @throws ModelViolation if an answer or a record differs; HoldfastError MISSING_DEPENDENCY without fast-check
 */
export async function testModel(
  options: TestModelOptions,
): Promise<{ readonly runs: number; readonly commands: number; readonly seed: number }> {
  const fc = await loadFastCheck()
  const { create, runs, log, shrink = true } = options
  const seed = options.seed ?? Math.floor(systemClock.random() * 2 ** 31)
  const histories: FastCheck.Arbitrary<History> = fc.oneof(
    { weight: 9, arbitrary: fc.record({ limits: limitsOf(fc), jobs: commandsOf(fc) }) },
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
  let cause: unknown = details.errorInstance
  // Run it once more, to record its calls.
  await run(create, counterexample![0], lines).catch((error: unknown) => (cause = error))
  throw new ModelViolation(cause, { seed, path: counterexamplePath!, commands: lines })
}

async function loadFastCheck(): Promise<typeof FastCheck> {
  try {
    return (await import('fast-check')).default
  } catch (cause) {
    if ((cause as { code?: string }).code !== 'ERR_MODULE_NOT_FOUND') throw cause
    throw new HoldfastError(
      'MISSING_DEPENDENCY',
      'testModel: fast-check is not installed. The model test generates its histories with it. Run: npm install --save-dev fast-check',
      { cause },
    )
  }
}

/** Returns the number of commands. @param lines filled with the calls */
async function run(create: TestModelOptions['create'], history: History, lines?: string[]): Promise<number> {
  const subject = await create()
  await subject.storage.connect()
  try {
    return 'kv' in history ? await runKv(subject, history.kv, lines) : await runJobs(subject, history, lines)
  } finally {
    await subject.storage.disconnect()
    await subject.close?.()
  }
}

async function runJobs(
  subject: Subject,
  { limits, jobs }: Extract<History, { jobs: unknown }>,
  lines?: string[],
): Promise<number> {
  const history = new JobHistory(subject, limits, lines)
  await history.begin()
  for (const command of jobs) await runCommand(history, command)
  return jobs.length
}
