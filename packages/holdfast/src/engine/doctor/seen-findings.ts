// Which findings are new, and since when the others are known: to a process that looks again and again.

import type { Finding } from '../../storage/storage.ts'

/** A finding with the time at which this process found it first. */
export interface SeenFinding extends Finding {
  /** Epoch ms, by the clock of this process. */
  readonly since: number
}

export class SeenFindings {
  #since: ReadonlyMap<string, number> = new Map()

  /** @param found all of now: what is not among them is over */
  note(found: readonly Finding[], now: number): { readonly seen: SeenFinding[]; readonly fresh: readonly Finding[] } {
    const before = this.#since
    const seen = found.map((finding) => ({ ...finding, since: before.get(keyOf(finding)) ?? now }))
    this.#since = new Map(seen.map((finding) => [keyOf(finding), finding.since]))
    return { seen, fresh: found.filter((finding) => !before.has(keyOf(finding))) }
  }
}

/**
 * The same finding has the same key, though counts and times in its sentence change from one look to the next. What a finding is about
 * stands in quotes; one without a name is the only one of its kind, but for its figures.
 */
function keyOf({ code, sentence }: Finding): string {
  const names = sentence.match(/'[^']*'/g)
  return `${code} ${names ? names.join(' ') : sentence.replaceAll(/\d+/g, '#')}`
}
