// Prints every requirement of docs/requirements.md with the cases, tests and lint rules that name it.
//
//   npm run requirements                 all of them
//   npm run requirements -- cancel S7    only those whose id or sentence contains one of the words
//
// Exit 0: every requirement is named somewhere. 1: some are not; they are listed last.

import { collectUses, readRequirements } from '../packages/holdfast/test/requirements-page.ts'

const words = process.argv.slice(2).map((word) => word.toLowerCase())
const requirements = readRequirements()
const uses = collectUses()
const usesOf = (id: string) => uses.filter(({ ids }) => ids.includes(id))

for (const { id, text } of requirements) {
  if (words.length > 0 && !words.some((word) => `${id} ${text}`.toLowerCase().includes(word))) continue
  console.log(`${id}  ${text}`)
  for (const { file, name } of usesOf(id)) console.log(`    ${file}: ${name || '(a name made at run time)'}`)
}

const unnamed = requirements.filter(({ id }) => usesOf(id).length === 0)
if (unnamed.length > 0) console.log('\nNamed by no case, test or lint rule:')
for (const { id, text } of unnamed) console.log(`    ${id}  ${text}`)

console.log(
  `\n${requirements.length} requirements: ${requirements.length - unnamed.length} named by a case, test or lint rule.`,
)
process.exitCode = unnamed.length > 0 ? 1 : 0
