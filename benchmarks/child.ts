// One measurement in its own process: without the heap, compiled code or timers of another contender.
// Started by measure.ts, which sends a Task and receives an Answer.

import { cases } from './cases/index.ts'
import type { Measure, Variant } from './case.ts'
import { contenderIn, type Entrant } from './contender.ts'
import type { Limits } from './load.ts'
import { median } from './statistics.ts'

export interface Task {
  /** A file in contenders/. */
  readonly contender: string
  readonly case: string
  readonly variant: string
  readonly limits: Limits
}

export type Answer =
  | { readonly kind: 'measured'; readonly measures: readonly Measure[] }
  /** The contender does not support this variant. */
  | { readonly kind: 'unsupported' }
  /** The measurement is invalid. */
  | { readonly kind: 'invalid'; readonly reason: string }

// The run was interrupted.
process.on('disconnect', () => process.exit(1))

process.send!(await answer(), undefined, undefined, () => process.exit(0))

async function answer(): Promise<Answer> {
  try {
    const measures = await run(JSON.parse(process.argv[2]!) as Task)
    return measures ? { kind: 'measured', measures } : { kind: 'unsupported' }
  } catch (error) {
    return { kind: 'invalid', reason: error instanceof Error ? error.message : String(error) }
  }
}

async function run(task: Task): Promise<readonly Measure[] | undefined> {
  const variant = cases.find(({ name }) => name === task.case)!.variants.find(({ name }) => name === task.variant)!
  const contender = await contenderIn(task.contender)
  if (variant.warmUp) await warmUp(contender, variant, variant.warmUp(task.limits))
  const until = performance.now() + (variant.repeatFor?.(task.limits) ?? 0) * 1_000
  const runs: (readonly Measure[])[] = []
  do {
    const measures = await variant.run(contender, task.limits)
    if (!measures) return undefined
    runs.push(measures)
  } while (performance.now() < until)
  return runs[0]!.map((measure, index) => ({ ...measure, value: median(runs.map((found) => found[index]!.value)) }))
}

/** Repeated until its time is over: a contender that is twice as fast would else be measured when its code has run for half as long. */
async function warmUp(contender: Entrant, variant: Variant, limits: Limits): Promise<void> {
  const until = performance.now() + limits.seconds * 1_000
  do await variant.run(contender, limits)
  while (performance.now() < until)
}
