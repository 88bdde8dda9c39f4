// Targets of parts that no peer has in this form: limits, groups, operating, chains and leaks.

import type { Place, Target } from './targets.ts'

/** What claims of others may lose to 100,000 jobs in full groups. */
const besideFullGroups = ['1k waiting', '500 waiting'].flatMap((waiting) =>
  ['', ' in groups'].flatMap((where) =>
    ['2', '10k'].flatMap((groups) =>
      ['claim of 1', 'claim of 100'].map((measure) => ({
        case: 'backlog',
        variant: `${waiting}${where}, group limit, 100k in ${groups} full groups`,
        measure,
        ratio: { atMost: 1.2 },
      })),
    ),
  ),
)

const pages = [
  'page, no filter',
  'page, state',
  'page, type',
  'page, type and state',
  'page, search',
  'page, search and state',
  'page, two search fields',
  'page in the middle',
].map((measure) => ({ case: 'operate', variant: 'many records', measure, ratio: { atMost: 3 } }))

const limits = (variant: string, measure: string, value: NonNullable<Target['value']>) => ({
  case: 'limits',
  variant,
  measure,
  value,
})

const batched = { driver: 'postgres', case: 'chains', variant: 'statements, batched' }

export const furtherTargets: readonly (Place & Target)[] = [
  ...besideFullGroups,
  ...pages,
  { case: 'operate', variant: 'retry 100k failed', measure: 'peak heap', ratio: { atMost: 2 } },
  limits('concurrency 3', 'most at once', { atMost: 3 }),
  limits('1 per group', 'most at once', { atMost: 1 }),
  limits('rate 100 per s', 'most starts in 1 s', { atMost: 100 }),
  limits('rate 100 per s', 'share used', { atLeast: 95 }),
  { ...batched, measure: 'statements per job', value: { atMost: 0.5 } },
  { ...batched, measure: 'row updates per job', value: { atMost: 2 } },
  { case: 'scale', variant: 'heap', measure: 'growth', value: { atMost: 20 } },
]
