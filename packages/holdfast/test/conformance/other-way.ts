// The cases for another way to a server: another client library, a pooler, a cluster. The rules of the driver have passed all
// cases by its usual way, so each runs those about what differs by the way, and a part of the others, a different part for
// each way. `npm run test:all` runs all of them.

import { test } from 'node:test'
import { type Subject, testStorage } from '../../../conformance/src/index.ts'
import { isFull } from '../full-size.ts'

export interface OtherWay {
  readonly name: string
  /** The cases about what differs by this way. @default those about connections, about how hints come in, and about transactions */
  readonly about?: RegExp
  /** Of the other cases, every so many-th is run. */
  readonly every: number
  /** Which of them: the position of the first. */
  readonly turn: number
  /** Why it cannot be run; false if it can. */
  readonly skip?: string | false
  create(): Subject | Promise<Subject>
}

/** Not what is cleared, or which change sends which hint: the rules of the driver. */
const aboutTheWay =
  /^(transaction: |connect: (?!clear removes)|listen: (?!events of a job|.* sends (wake|done|abort) to listeners))/

export async function testOtherWay(given: OtherWay): Promise<void> {
  const { name: way, about = aboutTheWay, every, turn, skip = false, create } = given
  let [seen, taken] = [0, 0]
  await testStorage({
    create,
    test: (name, run) => {
      const isOfPart = seen++ % every === turn || about.test(name)
      if (!isOfPart && !isFull) return
      taken++
      test(`${way}: ${name}`, { skip }, run)
    },
  })
  test('the number of cases', (context) => context.diagnostic(`conformance: ${way}: ${taken} cases`))
}
