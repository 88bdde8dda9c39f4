// backlog: waiting jobs must not make other calls slower (claim-cost.ts).

import type { Limits as TypeLimits } from 'holdfast/storage'
import type { Case, Variant } from '../case.ts'
import { claimVariant, type Fields, type Load } from '../claim-cost.ts'

const delayed: Fields = () => ({ delayMs: 3_600_000 })
const twoOrderedGroups: Fields = (n) => ({ group: { key: `group-${n % 2}`, ordered: true } })
const groups =
  (name: string, count: number): Fields =>
  (n) => ({ group: { key: `${name}-${n % count}`, ordered: false } })

/** Every group can run one job: the hidden ones do, and their other jobs wait for it. */
const onePerGroup: TypeLimits = { group: { limit: 1 } }
/** The due jobs of a claim of 100 are in different groups. */
const dueInGroups = groups('due', 200)
/** Limits that are far, so that each claim counts and none waits. */
const farLimits: TypeLimits = { concurrency: 1_000, rate: { limit: 100_000_000, perMs: 60_000 } }

/** The size of the backlog, by driver. */
interface Scale {
  isFor(driver: string): boolean
  /** Due jobs at the baseline. */
  readonly due: number
  readonly baseline: string
}

const databases: Scale = { isFor: (driver) => driver !== 'file', due: 1_000, baseline: '1k waiting' }
const files: Scale = { isFor: (driver) => driver === 'file', due: 500, baseline: '500 waiting' }

export const backlog: Case = {
  name: 'backlog',
  about:
    'Cost of a claim and of an add through the storage contract, by backlog: the tenth percentile (before 2026-11-17: the median). Ratios are to the smallest backlog. ' +
    'Delayed jobs and groups are measured beside the baseline number of due jobs; added jobs are then delayed or join a group. ' +
    'Group limit: every claim has a limit of one job per group. The jobs of full groups wait for the one that runs; the claims take ' +
    'others, without group or in 200 other groups, and their ratio is to the same claims without the full groups, between the same ' +
    'other calls: jobs of groups are added and cancelled again, which alone makes the next claim slower, because its code and data have ' +
    'left the caches of the processor (before 2026-11-19 the claims without full groups had no such calls beside them). ' +
    'Concurrency and rate: every claim has both, and 500 jobs run.',
  variants: [
    waiting('1k waiting', 1_000, databases),
    waiting('100k waiting', 100_000, databases),
    waiting('1M waiting', 1_000_000, databases),
    beside('1M delayed', 1_000_000, delayed, databases),
    beside('100k in two busy groups', 100_000, twoOrderedGroups, databases),
    waiting('500 waiting', 500, files),
    waiting('50k waiting', 50_000, files),
    beside('50k delayed', 50_000, delayed, files),
    beside('50k in two busy groups', 50_000, twoOrderedGroups, files),
    ...[databases, files].flatMap(limited),
  ],
}

function waiting(name: string, due: number, scale: Scale): Variant {
  return variant(name, scale, { due })
}

function beside(name: string, hidden: number, hiddenFields: Fields, scale: Scale): Variant {
  return variant(name, scale, { due: scale.due, hidden, hiddenFields })
}

/** The variants of a scale whose claims have limits. */
function limited(scale: Scale): Variant[] {
  const { due, baseline } = scale
  const farFields = { due, hidden: 500, hiddenFields: () => ({}), limits: farLimits }
  return [
    variant(`${baseline}, concurrency and rate`, scale, farFields),
    ...besideFullGroups(`${baseline}, group limit`, scale, { due, limits: onePerGroup }),
    ...besideFullGroups(`${baseline} in groups, group limit`, scale, {
      due,
      dueFields: dueInGroups,
      limits: onePerGroup,
    }),
  ]
}

/** A variant with a group limit; and the same beside full groups, and beside as many groups whose jobs come and go. */
function besideFullGroups(name: string, scale: Scale, load: Load): Variant[] {
  const withGroups = (count: number, inWords: string): Variant[] => {
    const hiddenFields = groups('full', count)
    const baseline = `${name}, ${inWords} groups come and go`
    return [
      variant(baseline, scale, { ...load, hiddenFields }),
      variant(
        `${name}, 100k in ${inWords} full groups`,
        { ...scale, baseline },
        { ...load, hidden: 100_000, hiddenFields },
      ),
    ]
  }
  return [variant(name, scale, load), ...withGroups(2, '2'), ...withGroups(10_000, '10k')]
}

function variant(name: string, { isFor, baseline }: Omit<Scale, 'due'>, load: Load): Variant {
  return { ...claimVariant(name, load), isFor, baseline }
}
