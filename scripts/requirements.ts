// Shows what the Queue promises and which tests show it, requirement by requirement, then what is left to other drivers.
//
//   npm run requirements                 everything
//   npm run requirements -- cancel       only requirements whose number or title contains one of the words
//
// Fails if a requirement has neither a test nor a reason.

import { type Coverage, coverage } from '../packages/holdfast/test/queue/coverage.ts'

const words = process.argv.slice(2).map((word) => word.toLowerCase())
const all = coverage()
const isWanted = ({ requirement: { id, title } }: Coverage): boolean =>
  words.length === 0 || words.some((word) => `${id} ${title}`.toLowerCase().includes(word))

const isBare = ({ requirement, tests }: Coverage): boolean => tests.length === 0 && !requirement.leftTo

for (const { requirement, tests } of all.filter(isWanted)) {
  if (tests.length === 0) continue
  console.log(`${requirement.id}  ${requirement.title}`)
  for (const { file, name } of tests) console.log(`    ${file}: ${name.replace(/^(\[[^\]]*\] ?)+/, '')}`)
}

print('Left to other drivers:', ({ leftTo }) => leftTo)
print('Left to them in part:', ({ partlyLeftTo }) => partlyLeftTo)

const bare = all.filter(isBare)
if (bare.length > 0) {
  console.log('\nNeither tested nor left to anybody:')
  for (const { requirement } of bare) console.log(`    ${requirement.id}  ${requirement.title}`)
}

const shown = all.filter(({ tests }) => tests.length > 0).length
const left = all.filter(({ requirement }) => requirement.leftTo).length
console.log(`\n${all.length} requirements: ${shown} shown, ${left} left to other drivers, ${bare.length} bare.`)
process.exitCode = bare.length > 0 ? 1 : 0

function print(heading: string, reason: (requirement: Coverage['requirement']) => string | undefined): void {
  const some = all.filter(isWanted).filter(({ requirement }) => reason(requirement))
  if (some.length === 0) return
  console.log(`\n${heading}`)
  for (const { requirement } of some) console.log(`    ${requirement.id}  ${requirement.title}: ${reason(requirement)}`)
}
