// The rounds: in each, every variant is measured of every contender, one right after the other, so that a change in the
// weather of the machine meets all of them. Who begins changes from round to round.

import type { Case, Measure, Variant } from './case.ts'
import type { Answer } from './child.ts'
import type { Entrant } from './contender.ts'
import type { Limits } from './load.ts'
import { measure } from './measure.ts'
import type { Entry, Row } from './results.ts'
import { sourcesHash } from './sources.ts'
import { numeral } from './summary.ts'

interface Step {
  readonly of: Case
  readonly variant: Variant
  readonly contender: Entrant
  readonly answers: Answer[]
}

/** Nothing of the run counts. */
export class SourcesChanged extends Error {
  constructor() {
    super('The sources of holdfast changed during the run: its rounds measured different code. Run it again.')
  }
}

/** @throws SourcesChanged */
export async function runRounds(
  contenders: readonly Entrant[],
  cases: readonly Case[],
  rounds: number,
  limits: Limits,
): Promise<Row[]> {
  const groups = groupsOf(contenders, cases)
  const sources = sourcesHash()
  for (let round = 1; round <= rounds; round++) {
    for (const [index, group] of groups.entries()) {
      for (const step of round % 2 === 1 ? group : group.toReversed()) {
        // No need to ask again.
        if (step.answers[0]?.kind === 'unsupported') continue
        const { of, variant, contender } = step
        const answer = await measure(
          { contender: contender.file, case: of.name, variant: variant.name, limits },
          variant,
        )
        if (sourcesHash() !== sources) throw new SourcesChanged()
        step.answers.push(answer)
        tell(`round ${round}/${rounds}, ${index + 1}/${groups.length}`, step, answer)
      }
    }
  }
  return groups.flatMap(rowsOf)
}

/** Those that are measured side by side. */
function groupsOf(contenders: readonly Entrant[], cases: readonly Case[]): Step[][] {
  return [...Map.groupBy(contenders, ({ driver }) => driver)].flatMap(([driver, sameDriver]) =>
    cases.flatMap((of) =>
      of.variants
        .filter(({ isFor }) => isFor?.(driver) ?? true)
        .map((variant) => sameDriver.map((contender) => ({ of, variant, contender, answers: [] }))),
    ),
  )
}

function tell(where: string, { of, variant, contender }: Step, answer: Answer): void {
  const found = measuresOf(answer).map(({ name, value, unit }) => `${name} ${numeral(value)} ${unit}`)
  if (answer.kind === 'unsupported') found.push('has no such call')
  if (answer.kind === 'invalid') found.push(`does not count: ${answer.reason}`)
  console.error(`[${where}] ${of.name} · ${variant.name} · ${contender.name}: ${found.join(', ')}`)
}

/** One row for each measure that a step of the group has. */
function rowsOf(group: readonly Step[]): Row[] {
  const { of, variant, contender } = group[0]!
  const measures = new Map(group.flatMap(({ answers }) => answers.flatMap(measuresOf)).map((item) => [item.name, item]))
  return [...measures.values()].map(({ name, unit }) => ({
    driver: contender.driver,
    case: of.name,
    variant: variant.name,
    measure: name,
    unit,
    baseline: variant.baseline,
    entries: group.flatMap((step) => entryOf(step, name) ?? []),
  }))
}

function entryOf({ contender: { name, isPeer }, answers }: Step, wanted: string): Entry | undefined {
  if (answers[0]!.kind === 'unsupported') return undefined
  const found = answers.flatMap(measuresOf).filter((item) => item.name === wanted)
  const note = found.find((item) => item.note !== undefined)?.note
  // One round that does not count spoils them all: an average of what works is no result.
  const invalid = answers.find((answer) => answer.kind === 'invalid')?.reason
  return { contender: name, isPeer, values: found.map(({ value }) => value), note, invalid }
}

function measuresOf(answer: Answer): readonly Measure[] {
  return answer.kind === 'measured' ? answer.measures : []
}
