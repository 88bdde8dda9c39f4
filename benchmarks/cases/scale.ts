// scale: more worker processes, more types, more groups, more jobs. (More waiting jobs: backlog.)

import type { Case, Variant } from '../case.ts'
import { claimVariant, type Fields, type Load } from '../claim-cost.ts'
import { heap } from '../scale/heap.ts'
import { processes, processesBaseline } from '../scale/processes.ts'

const typeNames = (count: number): string[] => Array.from({ length: count }, (_, index) => `type-${index}`)
const ofTypes =
  (count: number): Fields =>
  (n) => ({ type: `type-${n % count}` })
const inGroups =
  (count: number): Fields =>
  (n) => ({ group: { key: `group-${n % count}`, ordered: false } })

const isFile = (driver: string): boolean => driver === 'file'

export const scale: Case = {
  name: 'scale',
  about:
    'A filled queue drained by one and by two worker processes with concurrency 100 (per core in use: by the CPU time of the workers); the cost of a claim and of an add ' +
    'through the storage contract by the number of types that the worker has, of types beside its own, and of groups, as in backlog; and the growth of the heap ' +
    'over 1,000,000 jobs (50 times --jobs) after a tenth as many, with results that expire at once. Ratios are to the first of each kind.',
  variants: [
    processes(processesBaseline, 1),
    processes('2 worker processes', 2),
    ...[1, 10, 100, 1_000].map((count) =>
      claims(`worker of ${count.toLocaleString('en')} types`, 'worker of 1 types', {
        due: 1_000,
        dueFields: ofTypes(count),
        types: typeNames(count),
      }),
    ),
    claims('1,000 other types', 'worker of 1 types', {
      due: 1_000,
      dueFields: () => ({ type: 'type-0' }),
      types: ['type-0'],
      hidden: 10_000,
      hiddenFields: (n) => ({ type: `other-${n % 1_000}` }),
    }),
    ...[1, 100, 10_000].map((count) => ({
      ...claims(`jobs in ${count.toLocaleString('en')} groups`, 'jobs in 1 groups', {
        due: 10_000,
        dueFields: inGroups(count),
      }),
      isFor: (driver: string) => !isFile(driver),
    })),
    ...[1, 100, 1_000].map((count) => ({
      ...claims(`1,000 jobs in ${count.toLocaleString('en')} groups`, '1,000 jobs in 1 groups', {
        due: 1_000,
        dueFields: inGroups(count),
      }),
      isFor: isFile,
    })),
    heap,
  ],
}

function claims(name: string, baseline: string, load: Load): Variant {
  return { ...claimVariant(name, load), baseline }
}
