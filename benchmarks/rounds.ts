// The rounds: in each, every variant is measured for every contender, one right after the other, so that a change in the
// load of the machine affects all of them. The first contender changes from round to round.

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

/** The whole run is invalid. */
export class SourcesChanged extends Error {
  constructor() {
    super('bench: the sources of holdfast changed during the run. Its rounds measured different code. Run it again.')
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
        // The answer will not change.
        if (step.answers[0]?.kind === 'unsupported') continue
        const { of, variant, contender } = step
        const answer = await measure(
          { contender: contender.file, case: of.name, variant: variant.name, limits },
          variant,
        )
        if (sourcesHash() !== sources) throw new SourcesChanged()
        step.answers.push(answer)
        printStep(`round ${round}/${rounds}, ${index + 1}/${groups.length}`, step, answer)
      }
    }
  }
  return groups.flatMap(rowsOf)
}

/** The steps that are measured one after the other. */
function groupsOf(contenders: readonly Entrant[], cases: readonly Case[]): Step[][] {
  return [...Map.groupBy(contenders, ({ driver }) => driver)].flatMap(([driver, sameDriver]) =>
    cases.flatMap((of) =>
      of.variants
        .filter(({ isFor }) => isFor?.(driver) ?? true)
        .map((variant) => ({
          variant,
          own: sameDriver.filter(
            (contender) => (contender.cases?.includes(of.name) ?? true) && (variant.isOf?.(contender) ?? true),
          ),
        }))
        .filter(({ own }) => own.length > 0)
        .map(({ variant, own }) => own.map((contender) => ({ of, variant, contender, answers: [] }))),
    ),
  )
}

function printStep(where: string, { of, variant, contender }: Step, answer: Answer): void {
  const found = measuresOf(answer).map(({ name, value, unit }) => `${name} ${numeral(value)} ${unit}`)
  if (answer.kind === 'unsupported') found.push('not supported')
  if (answer.kind === 'invalid') found.push(`invalid: ${answer.reason}`)
  console.error(`[${where}] ${of.name} · ${variant.name} · ${contender.name}: ${found.join(', ')}`)
}

/** One row per measure of the group. */
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

function entryOf({ contender: { name, isPeer, isLimit }, answers }: Step, wanted: string): Entry | undefined {
  if (answers[0]!.kind === 'unsupported') return undefined
  const found = answers.flatMap(measuresOf).filter((item) => item.name === wanted)
  const note = found.find((item) => item.note !== undefined)?.note
  // One invalid round makes the result invalid: a median of the valid rounds only would be misleading.
  const invalid = answers.find((answer) => answer.kind === 'invalid')?.reason
  return {
    contender: name,
    isPeer,
    ...(isLimit && { isLimit }),
    values: found.map(({ value }) => value),
    note,
    invalid,
  }
}

function measuresOf(answer: Answer): readonly Measure[] {
  return answer.kind === 'measured' ? answer.measures : []
}
