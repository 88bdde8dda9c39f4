// The graph of a chain, the difference of two texts, and the scale of a chart.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import type { TreeJob } from '../src/shared/api.ts'
import { lineDiff } from '../src/shared/line-diff.ts'
import { graphOf, unfinished } from '../src/shared/tree-layout.ts'

const ref = (id: string) => ({ face: 'chain', name: 't', id })
const node = (id: string, chain = id, chainIndex = 0, blockers: readonly string[] = []): TreeJob => ({
  ...ref(id),
  state: chainIndex === 0 ? 'completed' : 'queued',
  chain: ref(chain),
  chainIndex,
  blockers: blockers.map(ref),
  createdAt: 0,
})

test('graph: every job is to the right of all that it follows, and next to one of them if it can be', () => {
  const { jobs, edges, layers } = graphOf({
    jobs: [node('a'), node('a2', 'a', 1), node('b'), node('end', 'end', 0, ['a', 'b'])],
  })
  const layer = Object.fromEntries(jobs.map((placed) => [placed.job.id, placed.layer]))
  assert.deepEqual(layer, { a: 0, a2: 1, b: 1, end: 2 })
  assert.deepEqual(edges.map(({ from, to, kind }) => `${from.job.id} ${kind} ${to.job.id}`).toSorted(), [
    'a next a2',
    'a2 blocker end',
    'b blocker end',
  ])
  assert.equal(layers, 3)
  assert.deepEqual(
    unfinished(
      jobs.map(({ job }) => job),
      ref('b'),
    ).map(({ id }) => id),
    ['a2', 'b'],
  )
})

test('graph: a circle, which no storage should hold, and a blocker that is not there end all the same', () => {
  const { jobs } = graphOf({ jobs: [node('a', 'a', 0, ['b']), node('b', 'b', 0, ['a', 'gone'])] })
  assert.equal(jobs.length, 2)
})

const many = (word: string): string => Array.from({ length: 1_000 }, (_, n) => `${word}${n}`).join('\n')

test('diff: what is removed gives the first text, what is added the second', () => {
  const lines = fc.array(fc.constantFrom('a', 'b', 'c', ''), { maxLength: 12 }).map((all) => all.join('\n'))
  fc.assert(
    fc.property(lines, lines, (before, after) => {
      const diff = lineDiff(before, after)
      const without = (kind: string): string =>
        diff
          .filter((line) => line.kind !== kind)
          .map(({ text }) => text)
          .join('\n')
      assert.deepEqual([without('added'), without('removed')], [before, after])
      if (before === after) assert.ok(diff.every(({ kind }) => kind === 'same'))
    }),
  )
  assert.deepEqual(
    lineDiff('x\nold\ny', 'x\nnew\ny').map(({ kind }) => kind),
    ['same', 'removed', 'added', 'same'],
  )
  assert.equal(lineDiff(many('a'), many('b')).length, 2_000)
})
