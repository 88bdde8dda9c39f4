// The differential test: the same random commands on several drivers, each compared with a reference of its own. After every command
// all of them must have the same records and counts.
//
// Some verbs leave a driver a choice: which of the jobs that came due together is claimed first, which lost leases a limit takes back,
// which records a sweep deletes. The reference has checked that each choice was legal; drivers that chose differently have parted, and
// the history ends there. After any other command a difference is a violation.

import type FastCheck from 'fast-check'
import type { JobRecord, RecordPart, Storage } from 'holdfast/storage'
import type { Subject } from '../case.ts'
import { type Command, commandsOf, limitsOf, types } from './commands.ts'
import { JobHistory } from './reference/history.ts'
import { universe } from './reference/requests.ts'
import { runCommand } from './reference/run-command.ts'
import { show } from './reference.ts'

interface TestDifferentialOptions {
  /** By the name of the driver: returns an empty storage. The first is the one that the others are compared with. */
  readonly create: Readonly<Record<string, () => Subject | Promise<Subject>>>
  readonly runs: number
  readonly seed: number
  /** Path of one history, to repeat only that one. */
  readonly path?: string | undefined
}

interface DifferentialResult {
  readonly runs: number
  readonly commands: number
  /** Histories that ended because the drivers chose differently. */
  readonly parted: number
}

/** @throws Error with the seed and the path of a history after which two drivers differ */
export async function testDifferential(options: TestDifferentialOptions): Promise<DifferentialResult> {
  const fc: typeof FastCheck = (await import('fast-check')).default
  let [commands, parted] = [0, 0]
  const property = fc.asyncProperty(
    fc.record({ limits: limitsOf(fc), jobs: commandsOf(fc) }),
    async ({ limits, jobs }) => {
      const ran = await runOn(options.create, limits, jobs)
      commands += ran.commands
      if (ran.parted) parted++
    },
  )
  const { runs, seed, path = '' } = options
  const details = await fc.check(property, { numRuns: runs, seed, path })
  if (details.failed) {
    const why = (details.errorInstance as Error | null)?.message ?? 'it failed'
    throw new Error(`${why}\n  seed ${seed}, path '${details.counterexamplePath}'`, { cause: details.errorInstance })
  }
  return { runs: details.numRuns, commands, parted }
}

/** Commands after which legal choices may differ. */
const choosing: ReadonlySet<Command['kind']> = new Set(['claim', 'recover', 'sweep'])

async function runOn(
  create: TestDifferentialOptions['create'],
  limits: readonly number[],
  jobs: readonly Command[],
): Promise<{ commands: number; parted: boolean }> {
  const names = Object.keys(create)
  const subjects: Subject[] = []
  try {
    for (const name of names) {
      const subject = await create[name]!()
      await subject.storage.connect()
      subjects.push(subject)
    }
    const histories = subjects.map((subject) => new JobHistory(subject, limits, undefined))
    for (const history of histories) await history.begin()
    for (const [index, command] of jobs.entries()) {
      for (const history of histories) await runCommand(history, command)
      const dumps = await Promise.all(subjects.map(({ storage }) => dumpOf(storage)))
      const other = dumps.findIndex((dump) => dump !== dumps[0])
      if (other === -1) continue
      if (choosing.has(command.kind)) return { commands: index + 1, parted: true }
      throw new Error(
        `${names[0]} and ${names[other]} differ after ${show(command)}:\n${firstDifference(dumps[0]!, dumps[other]!)}`,
      )
    }
    return { commands: jobs.length, parted: false }
  } finally {
    for (const { storage, close } of subjects) {
      await storage.disconnect()
      await close?.()
    }
  }
}

const parts: readonly RecordPart[] = ['payload', 'result', 'error', 'attempts', 'progress', 'log', 'blockers', 'tail']

const byGroup = (a: { group: string }, b: { group: string }): number => (a.group < b.group ? -1 : 1)

/** All that the contract fixes, one line per job and per type: fields in order, bytes as numbers, what is absent left out. */
async function dumpOf(storage: Storage): Promise<string> {
  const records = await storage.get(universe, { parts })
  const { types: counted } = await storage.count({ types })
  const lines = universe.map((ref, index) => `${show(ref)} ${canonical(fixed(records[index]))}`)
  // The contract does not order paused groups.
  const sorted = counted.map((counts) => ({ ...counts, pausedGroups: counts.pausedGroups.toSorted(byGroup) }))
  return [...lines, ...sorted.map(canonical)].join('\n')
}

/** Without what the contract leaves to the driver: how an end without a worker is kept among the attempts, and which reason of two. */
function fixed(record: JobRecord | undefined): unknown {
  if (!record) return undefined
  const { attempts, cancelReason: _, error: __, ...rest } = record
  return {
    ...rest,
    attempts: attempts
      ?.filter(({ outcome }) => outcome !== 'cancelled')
      .map(({ worker, attempt, outcome }) => [worker, attempt, outcome]),
  }
}

function canonical(value: unknown): string {
  if (value instanceof Uint8Array) return `bytes ${[...value].join(' ')}`
  if (value === null || typeof value !== 'object') return String(value)
  if (Array.isArray(value)) return `[${value.map(canonical).join(', ')}]`
  const fields = Object.entries(value).filter(([, field]) => field !== undefined && field !== false)
  return `{${fields
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, field]) => `${name}: ${canonical(field)}`)
    .join(', ')}}`
}

function firstDifference(a: string, b: string): string {
  const [first, second] = [a.split('\n'), b.split('\n')]
  const at = first.findIndex((line, index) => line !== second[index])
  return `  ${first[at]}\n  ${second[at]}`
}
