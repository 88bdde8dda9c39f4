// The model test: random histories on a driver, each step held against the reference (reference.ts).
// A history that fails is shrunk to a short one and printed as the calls that it made.

import type FastCheck from 'fast-check'
import { systemClock } from 'holdfast'
import { HoldfastError } from 'holdfast'
import type { Subject } from '../case.ts'
import { type Command, commandsOf } from './commands.ts'
import { type KvCommand, kvCommandsOf, runKv } from './kv-model.ts'
import { JobHistory } from './reference/history.ts'
import { runCommand } from './reference/run-command.ts'

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
  let cause: unknown = details.errorInstance
  // Once more, to see what it says.
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
  for (const command of commands) await runCommand(history, command)
  return commands.length
}
