// [S9] [S10] Messages that were changed on their way: none is accepted, none makes the reader fail. A million of them is
// another command's: `npm run fuzz:federation`.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { isUnchanged, mutatedMessage, originalText, receive } from './mutations.ts'

test('the message that was not changed is received', async () => {
  const received = await receive(originalText)
  assert.ok(received && isUnchanged(received))
})

test('2,000 changed messages: none is accepted, nothing is thrown', async () => {
  await fc.assert(
    fc.asyncProperty(mutatedMessage, async (text) => {
      const received = await receive(text)
      assert.ok(received === undefined || isUnchanged(received))
    }),
    { numRuns: 2_000 },
  )
})
