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
    'What each driver can do. The same program runs on every driver; where one does less, this table says so.',
    '',
    line(head),
    line(head.map(() => '---')),
    ...rows.map(line),
    '',
    '- **✓ scan**: a search reads records instead of an index, stops after 100,000 of them, and says `truncated`.',
    '- **✓ process**: the events of one process. On Redis and Postgres `events()` has those of all processes.',
    '- **partly**: built, but for what follows.',
    ...features.flatMap(({ id, title, missing }) =>
      missing === undefined ? [] : `  - \`${id}\` ${title}: ${missing}.`,
    ),
    '',
    'The numbers are rows of [the requirements](requirements.md). Conformance cases or tests name every feature that is built:',
    '',
    '```sh',
    'npm run features              # counts them, and ends with exit code 1 if a feature has none',
    'npm run features -- --write   # writes this page',
    '```',
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
