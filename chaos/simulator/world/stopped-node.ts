// A process after its stop() has resolved. It must be silent, with one exception: a stop is bounded in time, so an answer may come
// after it, and what that brought is given back. A late connect is followed by a disconnect, and the jobs of a late claim are released.

import type { Claim, Outcome } from 'holdfast/storage'
import { fenceOf } from '../../entries.ts'

export class StoppedNode {
  #lateConnects = 0
  readonly #lateFences = new Set<string>()

  /** To be called with each answer that comes after the stop. */
  answered(verb: string, answer: unknown): void {
    if (verb === 'connect') this.#lateConnects++
    if (verb === 'claim') for (const job of (answer as Claim).jobs) this.#lateFences.add(nameOf(job))
  }

  /** Whether the call gives back what a late answer brought. Each can be given back once. */
  givesBack(verb: string, args: readonly unknown[]): boolean {
    if (verb === 'disconnect') return this.#lateConnects-- > 0
    const outcomes = (verb === 'settle' ? args[0] : []) as readonly Outcome[]
    return (
      outcomes.length > 0 && outcomes.every((one) => one.kind === 'released' && this.#lateFences.delete(nameOf(one)))
    )
  }
}

const nameOf = (one: Outcome | Claim['jobs'][number]): string =>
  'worker' in one ? `${one.type}/${one.id} ${fenceOf(one)}` : ''
