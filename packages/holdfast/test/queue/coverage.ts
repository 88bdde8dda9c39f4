// Which tests show which requirement: by the numbers in brackets that their names begin with.

import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { type Requirement, requirements } from './requirements.ts'

interface NamedTest {
  /** Relative to the tests of the package; those of kill runs begin with `chaos/`. */
  readonly file: string
  readonly name: string
  readonly numbers: readonly string[]
}

export interface Coverage {
  readonly requirement: Requirement
  readonly tests: readonly NamedTest[]
}

const folders = { '': '../', 'chaos/': '../../../../chaos/' }
const number = /^(?:Q\d+\.\d+|trap \d+)$/

export function coverage(): readonly Coverage[] {
  const tests = namedTests()
  return requirements.map((requirement) => ({
    requirement,
    tests: tests.filter(({ numbers }) => numbers.includes(requirement.id)),
  }))
}

export function namedTests(): readonly NamedTest[] {
  return Object.entries(folders).flatMap(([name, path]) => {
    const folder = fileURLToPath(new URL(path, import.meta.url))
    const files = globSync('**/*.ts', { cwd: folder }).toSorted()
    return files.flatMap((file) => testsOf(name + file, readFileSync(folder + file, 'utf8')))
  })
}

function testsOf(file: string, source: string): NamedTest[] {
  // Every text that begins with a number in brackets, or with one that is filled in, is the name of a test.
  const names = source.matchAll(/(['"`])((?:\[(?:Q\d+\.\d+|trap \d+|§\d+|\$\{\w+\})\] ?)+(?:\\.|(?!\1)[^\\])*)\1/gs)
  return [...names].map(([, , name]) => {
    const [brackets] = /^(?:\[[^\]]*\] ?)+/.exec(name!)!
    const numbers = [...brackets.matchAll(/\[([^\]]*)\]/g)].flatMap(([, inside]) =>
      // Filled in from a table: then all numbers that the file has as texts of their own.
      inside!.startsWith('${') ? quotedNumbers(source) : [inside!],
    )
    return { file, name: name!, numbers: numbers.filter((text) => number.test(text)) }
  })
}

const quotedNumbers = (source: string): string[] =>
  [...source.matchAll(/'(Q\d+\.\d+|trap \d+)'/g)].map(([, text]) => text!)
