// Shows what the Queue promises and which tests show it, requirement by requirement, then what no test shows.
//
//   npm run requirements                 everything
//   npm run requirements -- cancel       only requirements whose number or title contains one of the words
//
// Fails if a requirement has no test.

import { type Coverage, coverage } from '../packages/holdfast/test/queue/coverage.ts'

const words = process.argv.slice(2).map((word) => word.toLowerCase())
const all = coverage()
const isWanted = ({ requirement: { id, title } }: Coverage): boolean =>
  words.length === 0 || words.some((word) => `${id} ${title}`.toLowerCase().includes(word))

for (const { requirement, tests } of all.filter(isWanted)) {
  console.log(`${requirement.id}  ${requirement.title}`)
  for (const { file, name } of tests) console.log(`    ${file}: ${name.replace(/^(\[[^\]]*\] ?)+/, '')}`)
}

const inPart = all.filter(({ requirement }) => requirement.notShown)
const bare = all.filter(({ tests }) => tests.length === 0)
print('Not shown in part:', inPart, ({ title, notShown }) => `${title}: ${notShown}`)
print('Without a test:', bare, ({ title }) => title)

console.log(`\n${all.length} requirements: ${all.length - bare.length} shown, ${inPart.length} of them in part.`)
process.exitCode = bare.length > 0 ? 1 : 0

function print(
  heading: string,
  some: readonly Coverage[],
  text: (requirement: Coverage['requirement']) => string,
): void {
  const wanted = some.filter(isWanted)
  if (wanted.length === 0) return
  console.log(`\n${heading}`)
  for (const { requirement } of wanted) console.log(`    ${requirement.id}  ${text(requirement)}`)
}
