// docs/features.md: the matrix of features and drivers.

import { drivers, type Feature, features, isBuilt, statusOn } from './table.ts'

const marks = { built: '✓', scan: '✓ scan', process: '✓ process', partly: 'partly', not: '–' } as const

const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`

export function featuresPage(): string {
  const head = ['', 'feature', ...drivers]
  const rows = features.map((feature) => [
    `\`${feature.id}\``,
    feature.title,
    ...drivers.map((driver) => marks[statusOn(feature, driver)]),
  ])
  return [
    '# Features by driver',
    '',
    'Which features each driver has. The same program runs on every driver; what differs is named here, and nowhere hidden.',
    '',
    '```sh',
    'npm run features              # this table, with the number of cases and tests that name each feature',
    'npm run features -- --write   # writes this page',
    '```',
    '',
    'The numbers are rows of [the requirements](requirements.md). Every feature that is built is named by conformance cases or by tests,',
    'which `npm run features` counts; it ends with exit code 1 if one is not.',
    '',
    line(head),
    line(head.map(() => '---')),
    ...rows.map(line),
    '',
    '- **✓ scan**: a search reads records instead of an index, stops after 100,000 of them, and says `truncated`.',
    '- **✓ process**: the events of one process. On Redis and Postgres `events()` has those of all processes.',
    '- **partly**: some of it works; the page of the face says what.',
    '',
  ].join('\n')
}

/** What is wrong with the table: features that are called built, and that no case or test names; or that a finished part lacks. */
export function problemsOf(feature: Feature, uses: number, isFinished: boolean): string[] {
  const isBuiltEverywhere = drivers.every((driver) => isBuilt(statusOn(feature, driver)))
  const problems: string[] = []
  if (isFinished && !isBuiltEverywhere) problems.push(`${feature.id} belongs to a finished part, and is not built`)
  if (isBuiltEverywhere && uses === 0) problems.push(`${feature.id} is called built, and no case or test names it`)
  return problems
}
