// Fuzzes v1 messages:  npm run fuzz:federation [-- <messages> [<seed> [<seconds>]]]
//
// Each changed message goes to the functions of the wire and to the real receiving side. Exit code 0: none was accepted, none failed.

import * as fc from 'fast-check'
import { isUnchanged, mutatedMessage, originalText, receive, receiveByHandler, stop } from './mutations.ts'

// Nearly every message is refused with an error, and its stack is not read.
Error.stackTraceLimit = 0

const [count = '1000000', seed = String(Date.now() % 2 ** 31), longest = '86400'] = process.argv.slice(2)
for (const read of [receive, receiveByHandler]) {
  const first = await read(originalText)
  if (!first || !isUnchanged(first)) throw new Error('The message that was not changed is refused.')
}

let unchanged = 0
const startedAt = performance.now()
const result = await fc.check(
  fc.asyncProperty(mutatedMessage, async (text) => {
    const received = await receive(text)
    const byHandler = await receiveByHandler(text)
    if (received === undefined && byHandler === undefined) return true
    unchanged += 1
    return received !== undefined && byHandler !== undefined && isUnchanged(received) && isUnchanged(byHandler)
  }),
  { numRuns: Number(count), seed: Number(seed), interruptAfterTimeLimit: Number(longest) * 1_000 },
)
const seconds = (performance.now() - startedAt) / 1000
console.log(`${result.numRuns} messages in ${seconds.toFixed(1)} s, seed ${seed}`)
console.log(`  ${result.numRuns - unchanged} changed in what is read, ${unchanged} only in how it is written`)
console.log(result.failed ? fc.defaultReportMessage(result) : '  0 accepted, 0 crashes')
await stop()
process.exitCode = result.failed ? 1 : 0
