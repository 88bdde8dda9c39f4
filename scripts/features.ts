// Prints which feature is built on which driver, and how many conformance cases and tests name it.
//
//   npm run features              the matrix
//   npm run features -- --write   writes docs/features.md, too
//
// Exit 0: every feature of a finished part is built on every driver, and named by a case or test. 1: some are not.

import { writeFileSync } from 'node:fs'
import { collectUses } from '../packages/holdfast/test/requirements-page.ts'
import { featuresPage, problemsOf } from './features/page.ts'
import { drivers, features, parts, statusOn } from './features/table.ts'

const uses = collectUses()
const isCase = (file: string): boolean => file.startsWith('packages/conformance/')
const count = (id: string, ofCases: boolean): number =>
  uses.filter(({ ids, file }) => ids.includes(id) && isCase(file) === ofCases).length

const wide = Math.max(...features.map(({ title }) => title.length))
const cells = (values: readonly string[]): string => values.map((value) => value.padEnd(9)).join('')
console.log(`${''.padEnd(5)}${''.padEnd(wide)}  ${cells([...drivers, 'cases', 'tests'])}`)
const problems: string[] = []
for (const feature of features) {
  const { id, title, part } = feature
  const [cases, tests] = [count(id, true), count(id, false)]
  const statuses = drivers.map((driver) => statusOn(feature, driver))
  console.log(`${id.padEnd(5)}${title.padEnd(wide)}  ${cells([...statuses, String(cases), String(tests)])}`)
  problems.push(...problemsOf(feature, cases + tests, parts[part] === 'finished'))
}
for (const problem of problems) console.log(problem)
if (process.argv.includes('--write')) writeFileSync(new URL('../docs/features.md', import.meta.url), featuresPage())
process.exitCode = problems.length > 0 ? 1 : 0
