// [S9] [S10] Messages that were changed in transit: none is accepted, none makes the reader fail. `npm run fuzz:federation` tries a\n// million of them.

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import * as fc from 'fast-check'
import { sized } from '../../../holdfast/test/full-size.ts'
import { isUnchanged, mutatedMessage, originalText, receive, receiveByHandler, stop } from './mutations.ts'

after(stop)

for (const [by, read, numRuns] of [
  ['the wire', receive, sized(2_000, 800)],
  ['the receiving side', receiveByHandler, sized(1_000, 400)],
] as const) {
  test(`${by}: the unchanged message is accepted`, async () => {
    const received = await read(originalText)
    assert.ok(received && isUnchanged(received))
  })

  test(`${by}: ${numRuns} changed messages, none is accepted, nothing is thrown`, async () => {
    await fc.assert(
      fc.asyncProperty(mutatedMessage, async (text) => {
        const received = await read(text)
        assert.ok(received === undefined || isUnchanged(received))
      }),
      { numRuns },
    )
  })
}
