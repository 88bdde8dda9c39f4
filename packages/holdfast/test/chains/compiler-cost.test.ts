// The cost of job types for the compiler, by a program that declares, starts, awaits and handles a linear chain of n types.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compile } from './compiler.ts'

test('a chain of 100 types stays under 150,000 instantiations, and the cost of a type does not grow', async (t) => {
  const costs = new Map<number, number>()
  for (const n of [1, 50, 100]) {
    const { instantiations, errors } = await compile(t, `chain-of-${n}`, chainOf(n))
    assert.deepEqual(errors, [])
    costs.set(n, instantiations)
    t.diagnostic(`${n} types: ${instantiations} instantiations`)
  }
  const [one, fifty, hundred] = [...costs.values()] as [number, number, number]
  assert.ok(hundred < 150_000, `${hundred}`)
  const early = (fifty - one) / 49
  const late = (hundred - fifty) / 50
  // A cost that grew with the square would be three times as much for the second fifty.
  assert.ok(late < 1.2 * early, `${early} each for the first fifty, ${late} for the second`)
})

test('a loop through 100 types ends', async (t) => {
  const { errors } = await compile(t, 'loop', chainOf(100, 't0'))
  assert.deepEqual(errors, [])
})

/** `back`: the last type may also continue with that one. */
function chainOf(n: number, back?: string): string {
  const definitions: string[] = []
  const processors: string[] = []
  for (let i = 0; i < n - 1; i++) {
    definitions.push(
      `t${i}: { ${i === 0 ? 'entry: true; ' : ''}input: { v${i}: number }; continueWith: { typeName: 't${i + 1}' } }`,
    )
    processors.push(
      `t${i}: { process: async ({ job, complete }) => complete(async ({ continueWith }) =>
        continueWith({ typeName: 't${i + 1}', input: { v${i + 1}: job.input.v${i} } })) },`,
    )
  }
  const end = n - 1
  const loop = back ? `continueWith: { typeName: '${back}' }` : ''
  definitions.push(
    `t${end}: { ${end === 0 ? 'entry: true; ' : ''}input: { v${end}: number }; output: { end: number }; ${loop} }`,
  )
  processors.push(`t${end}: { process: async ({ job, complete }) => complete({ end: job.input.v${end} }) },`)
  return `
import { MemoryStorage } from 'holdfast'
import { createClient, createInProcessWorker, defineJobTypes } from 'holdfast/chains'
const storage = new MemoryStorage()
const jobTypeRegistry = defineJobTypes<{
  ${definitions.join('\n  ')}
}>()
const client = await createClient({ storage, jobTypeRegistry })
const chain = await client.startJobChain({ typeName: 't0', input: { v0: 1 } })
const ended = await client.waitForJobChainCompletion(chain, { timeoutMs: 1_000 })
export const end: number = ended.output.end
await createInProcessWorker({ storage, jobTypeRegistry, jobTypeProcessors: {
  ${processors.join('\n  ')}
} })
`
}
