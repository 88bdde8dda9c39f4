// The calls of one process, as far as its stop is judged by them. After its stop() has resolved a process must be silent, except that
// it gives back what it holds: a stop is bounded in time, so an answer may come after it. A connection that is open is closed, and the
// jobs of a late claim are released. Calls that the user's handlers make are theirs.

import type { Claim, NewJob, Outcome } from 'holdfast/storage'
import { fenceOf } from '../../entries.ts'

export class CallsOfNode {
  isStopped = false
  #connections = 0
  readonly #lateFences = new Set<string>()

  /** To be called with each answer. */
  answered(verb: string, answer: unknown): void {
    if (verb === 'connect') this.#connections++
    if (verb === 'claim' && this.isStopped) for (const job of (answer as Claim).jobs) this.#lateFences.add(nameOf(job))
  }

  /** To be called with each call. @returns whether it may be made now */
  mayMake(verb: string, args: readonly unknown[]): boolean {
    if (verb === 'disconnect') return this.#connections-- > 0 || !this.isStopped
    if (!this.isStopped) return true
    if (verb === 'add') return (args[0] as readonly NewJob[]).every(({ id }) => isOfHandler(id))
    const outcomes = (verb === 'settle' ? args[0] : []) as readonly Outcome[]
    return (
      outcomes.length > 0 && outcomes.every((one) => one.kind === 'released' && this.#lateFences.delete(nameOf(one)))
    )
  }
}

/** Of a job that a handler adds. */
const isOfHandler = (id: string): boolean => id.endsWith('+')

const nameOf = (one: Outcome | Claim['jobs'][number]): string =>
  'worker' in one ? `${one.type}/${one.id} ${fenceOf(one)}` : ''
