// A slice of the fuzzers: `npm run fuzz` runs more.

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { isFull } from '../full-size.ts'
import { stopPostgres } from '../postgres-subject.ts'
import { stopPlaces } from '../redis-places.ts'
import { Defect, fuzz } from './fuzz.ts'
import { targets } from './targets.ts'

after(stopPlaces)
after(stopPostgres)

for (const [name, { open, runs }] of Object.entries(targets)) {
  test(`changed input: ${name}`, async (t) => {
    const result = await fuzz(open, isFull ? 20 * runs : runs)
    assert.deepEqual(result.found, [])
    assert.equal(result.runs, isFull ? 20 * runs : runs)
    t.diagnostic(`fuzz ${name}: ${result.runs} inputs, ${result.refused} refused`)
  })
}

const broken = () => ({
  input: (random: { below(n: number): number }) => random.below(100),
  run: (input: unknown) => {
    if (input === 7) throw new TypeError('x is undefined')
    if (input === 8) throw new Defect('wrong')
  },
})

test('an error that is none of Holdfast is found, with its seed', async () => {
  const { found } = await fuzz(broken, 1_000, 1, 1)
  assert.equal(found.length, 1)
  const { seed, input } = found[0]!
  assert.match(input, /^[78]$/)
  assert.equal((await fuzz(broken, 1, seed)).found.length, 1, 'the seed repeats it')
})
