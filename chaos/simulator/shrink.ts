// Makes a violation smaller: leaves out kinds of faults, then kinds of jobs, calls and processes, as long as the same invariant is
// still broken.

import type { Defect } from './defects/defect.ts'
import { runSeed, type SeedRun } from './run-seed.ts'
import { faultKinds } from './world/faults.ts'
import type { Reduction } from './world/setup.ts'

export async function shrink(
  run: SeedRun,
  defect?: Defect,
): Promise<{ readonly reduction: Reduction; readonly run: SeedRun }> {
  const { invariant } = run.violations[0]!
  let [reduction, smallest]: [Reduction, SeedRun] = [{}, run]
  const attempt = async (smaller: Reduction): Promise<boolean> => {
    const tried = await runSeed(run.seed, smaller, defect)
    if (!tried.violations.some((one) => one.invariant === invariant)) return false
    ;[reduction, smallest] = [smaller, tried]
    return true
  }
  for (const kind of faultKinds) await attempt({ ...reduction, without: [...(reduction.without ?? []), kind] })
  for (const kind of smallest.setup.kinds) {
    const kinds = smallest.setup.kinds.filter((other) => other !== kind)
    if (kinds.length > 0) await attempt({ ...reduction, kinds })
  }
  for (let operations = smallest.setup.operations; operations > 1; operations = Math.floor(operations / 2)) {
    const fewer = Math.floor(smallest.setup.operations / 2)
    if (fewer < 1 || !(await attempt({ ...reduction, operations: fewer }))) break
  }
  while (smallest.setup.operations > 1 && (await attempt({ ...reduction, operations: smallest.setup.operations - 1 })));
  while (smallest.setup.producers > 1 && (await attempt({ ...reduction, producers: smallest.setup.producers - 1 })));
  while (smallest.setup.workers > 1 && (await attempt({ ...reduction, workers: smallest.setup.workers - 1 })));
  return { reduction, run: smallest }
}

/** The command that runs a seed again. */
export function commandOf(
  seed: number,
  { without, kinds, operations, producers, workers }: Reduction,
  defect?: Defect,
): string {
  const flags = [
    `--seed ${seed}`,
    without?.length ? `--without ${without.join(',')}` : '',
    kinds ? `--kinds ${kinds.join(',')}` : '',
    operations === undefined ? '' : `--operations ${operations}`,
    producers === undefined ? '' : `--producers ${producers}`,
    workers === undefined ? '' : `--workers ${workers}`,
    defect ? `--defect ${defect.name}` : '',
    '--trace',
  ]
  return `npm run simulate -- ${flags.filter((flag) => flag !== '').join(' ')}`
}
