// The concurrent test: two or three clients call one storage at the same time, each by a handle of its own. The answers and the records
// must be those of some order of the calls: every order is tried on the reference, until one explains them.
//
// Left out, because the reference reads the records after such a call, which the calls beside it change too: sweeps, removed trees,
// and limits. Time stands while calls are under way.

import type FastCheck from 'fast-check'
import type { Extension, LeaseVerdict, Storage } from 'holdfast/storage'
import type { Subject } from '../case.ts'
import { type Command, commandsOf, types } from './commands.ts'
import { show, type World } from './reference.ts'
import { JobHistory } from './reference/history.ts'
import { runCommand } from './reference/run-command.ts'
import { extend } from './reference/settle.ts'
import { loseTurns } from './reference/turns.ts'

interface TestConcurrentOptions {
  /** Returns an empty storage, with a clock that the test moves and, to be worth it, more handles. */
  readonly create: () => Subject | Promise<Subject>
  readonly runs: number
  /** Clients at the same time. @default 3 */
  readonly clients?: number | undefined
  /**
   * Its claims pass over rows that another call has locked, as the contract allows: they have rounds of their own, because the
   * reference has no such choice. @default false
   */
  readonly passesOver?: boolean | undefined
  readonly seed: number
  readonly path?: string | undefined
}

interface ConcurrentResult {
  readonly runs: number
  readonly rounds: number
  readonly calls: number
  /** Rounds that an order other than that of the calls explains. */
  readonly reordered: number
}

/** A round of calls that no order explains. */
class Unexplained extends Error {}

/** @throws Error with the seed and the path of a history that no order of its calls explains */
export async function testConcurrent(options: TestConcurrentOptions): Promise<ConcurrentResult> {
  const fc: typeof FastCheck = (await import('fast-check')).default
  const { create, runs, seed, path = '', clients = 3, passesOver = false } = options
  let [rounds, calls, reordered] = [0, 0, 0]
  const property = fc.asyncProperty(commandsOf(fc), async (commands) => {
    const subject = await create()
    await subject.storage.connect()
    try {
      const handles = [subject.storage]
      while (handles.length < clients) handles.push((await subject.another?.()) ?? subject.storage)
      const history = new ConcurrentHistory(subject, handles)
      await history.begin()
      for (const round of roundsOf(commands, clients, passesOver)) {
        const ran = await history.round(round)
        rounds++
        calls += ran.calls
        if (ran.order > 0) reordered++
      }
    } finally {
      await subject.storage.disconnect()
      await subject.close?.()
    }
  })
  // Not shrunk: a race seldom happens again.
  const details = await fc.check(property, { numRuns: runs, seed, path, endOnFailure: true })
  if (details.failed) {
    const why = (details.errorInstance as Error | null)?.message ?? 'it failed'
    throw new Error(`${why}\n  seed ${seed}, path '${details.counterexamplePath}'`, { cause: details.errorInstance })
  }
  return { runs: details.numRuns, rounds, calls, reordered }
}

const isUsed = (command: Command): boolean =>
  command.kind !== 'sweep' && command.kind !== 'list' && !(command.kind === 'remove' && command.how === 1)

/** Every answer arrives, and no heartbeat names a lease twice: on Postgres that would be two moves. */
function answeredOnce(command: Command): Command {
  if (command.kind === 'extend') return { ...command, leases: command.leases.slice(0, 1) }
  return 'lost' in command ? { ...command, lost: false } : command
}

/** The commands in rounds. To move time is a round of its own. */
function roundsOf(commands: readonly Command[], clients: number, passesOver: boolean): Command[][] {
  const isAlone = ({ kind }: Command): boolean =>
    kind === 'advance' || (passesOver && (kind === 'claim' || kind === 'recover'))
  const rounds: Command[][] = []
  let open: Command[] = []
  for (const command of commands.filter(isUsed).map(answeredOnce)) {
    if (isAlone(command) || open.length === clients) {
      if (open.length > 0) rounds.push(open)
      open = []
    }
    if (isAlone(command)) rounds.push([command])
    else open.push(command)
  }
  if (open.length > 0) rounds.push(open)
  return rounds
}

interface Call {
  readonly line: string
  readonly handle: Storage
  readonly ask: () => Promise<unknown>
  readonly apply: (answer: unknown) => void
  readonly answered: (answer: unknown) => void
}

class ConcurrentHistory extends JobHistory {
  readonly #handles: readonly Storage[]
  readonly #calls: Call[] = []

  constructor(subject: Subject, handles: readonly Storage[]) {
    super(subject, [0, 0], undefined)
    this.#handles = handles
  }

  /** Collected: round() makes the calls. */
  override call<Answer>(
    name: string,
    args: readonly unknown[],
    ask: () => Promise<Answer>,
    apply: (answer: Answer | undefined) => void,
  ): Promise<Answer | undefined> {
    return new Promise((resolve) => {
      this.#calls.push({
        line: `${name}(${args.map(show).join(', ')})`,
        handle: this.storage,
        ask,
        apply: (answer) => {
          if (name === 'extend') this.#extend(args[0] as readonly Extension[], answer as readonly LeaseVerdict[])
          else apply(answer as Answer)
        },
        answered: resolve as (answer: unknown) => void,
      })
    })
  }

  /** A lease whose row another call has locked is `busy`, and not changed: the heartbeat asks again. */
  #extend(leases: readonly Extension[], verdicts: readonly LeaseVerdict[]): void {
    const isAnswered = (_: unknown, index: number): boolean => verdicts[index]!.verdict !== 'busy'
    extend(this.world, leases.filter(isAnswered), verdicts.filter(isAnswered))
  }

  /** @returns the number of calls, and of the order that explains them: 0 is that in which they were made */
  async round(commands: readonly Command[]): Promise<{ calls: number; order: number }> {
    if (commands[0]?.kind === 'advance') {
      await runCommand(this, commands[0])
      return { calls: 0, order: 0 }
    }
    const running = commands.map((command, index) => {
      this.storage = this.#handles[index]!
      return runCommand(this, command)
    })
    const calls = this.#calls.splice(0)
    const answers = await Promise.all(
      calls.map(({ handle, ask }) => {
        this.storage = handle
        return ask()
      }),
    )
    this.storage = this.#handles[0]!
    await this.look()
    const order = this.#explain(calls, answers)
    calls.forEach(({ answered }, index) => answered(answers[index]))
    await Promise.all(running)
    return { calls: calls.length, order }
  }

  #explain(calls: readonly Call[], answers: readonly unknown[]): number {
    const before = this.world
    // Calls at the same time have no order that turns could follow.
    loseTurns(before, types)
    const reasons: string[] = []
    for (const [number, order] of orders(calls.length).entries()) {
      this.world = structuredClone(before) as World
      try {
        for (const index of order) {
          this.world.moves++
          calls[index]!.apply(answers[index])
        }
        this.compare()
        return number
      } catch (error) {
        reasons.push(`${order.join(', ')}: ${(error as Error).message}`)
      }
    }
    this.world = before
    const made = calls.map(({ line }, index) => `    ${index}: ${line}\n       → ${show(answers[index])}`)
    throw new Unexplained(`no order explains\n${made.join('\n')}\n  ${reasons.join('\n  ')}`)
  }
}

/** All orders of n calls, that in which they were made first. */
function orders(count: number): number[][] {
  if (count === 0) return [[]]
  return orders(count - 1).flatMap((order) =>
    Array.from({ length: count }, (_, at) => order.toSpliced(order.length - at, 0, count - 1)),
  )
}
