// The kill test over chains: its checks find every planted error, and a short run is clean.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkChains, type Final, type FinalChain, type FinalJob } from './chains/checks.ts'
import type { ChainsReport } from './chains/report.ts'
import { chainsAsked, idOf, partsOf, startOrder, stocksOf } from './chains/types.ts'
import { chaos } from './short-run.ts'

const orders = 12

/** A correct end state. */
function goodEnd(): { chains: FinalChain[]; jobs: FinalJob[] } {
  const chains: FinalChain[] = []
  const jobs: FinalJob[] = []
  const add = (typeName: string, id: string, input: number): void => {
    const { jobs: count, output } = chainsAsked[typeName]!(input)
    chains.push({ id, typeName, input, state: 'completed', output })
    for (let chainIndex = 0; chainIndex < count; chainIndex++) {
      jobs.push({ id: `${id}/${chainIndex}`, typeName, chainId: id, chainIndex, state: 'completed' })
    }
  }
  for (let stock = 0; stock < stocksOf(orders); stock++) add('stock', idOf('stock', stock), stock)
  for (let order = 0; order < orders; order++) {
    add('order', idOf('order', order), order)
    add('label', `label-of-${order}`, order)
    for (const part of partsOf(order)) add('part', idOf('part', part), part)
  }
  return { chains, jobs }
}

const found = (change: (end: ReturnType<typeof goodEnd>) => Partial<Final> | void): string[] => {
  const end = goodEnd()
  const changed = change(end)
  return [...new Set(checkChains({ orders, entries: [], ...end, ...changed }).map(({ check }) => check))].toSorted()
}

test('a correct end state is clean, and each error is found', () => {
  const report = { what: 'chainEnded', chain: 'order-1', at: 0, by: 'worker-0.1' } as const
  assert.deepEqual(
    found(() => {}),
    [],
  )
  assert.deepEqual(
    found(() => ({ entries: [report] })),
    [],
  )
  assert.deepEqual(
    found(() => ({ entries: [report, report] })),
    ['ends'],
  )
  assert.deepEqual(
    found(({ chains }) => ({ chains: chains.filter(({ id }) => id !== 'part-3') })),
    ['links', 'lost'],
  )
  assert.deepEqual(
    found(({ chains }) => ({ chains: chains.filter(({ id }) => id !== 'label-of-3') })),
    ['links', 'lost'],
  )
  assert.deepEqual(
    found(({ chains, jobs }) => {
      const [unrequested] = [{ ...chains.find(({ id }) => id === 'stock-0')!, id: 'stock-99' }]
      return { chains: [...chains, unrequested], jobs: [...jobs, { ...jobs[0]!, id: 'x', chainId: 'stock-99' }] }
    }),
    ['invented'],
  )
  assert.deepEqual(
    found(({ jobs }) => ({ jobs: jobs.filter(({ id }) => id !== 'order-1/1') })),
    ['links'],
  )
  assert.deepEqual(
    found(({ jobs }) => ({ jobs: [...jobs, { ...jobs.find(({ id }) => id === 'order-1/1')!, id: 'again' }] })),
    ['links'],
  )
  assert.deepEqual(
    found(({ chains }) => ({ chains: chains.map((chain) => ({ ...chain, output: chain.output! + 1 })) })),
    ['output'],
  )
  assert.deepEqual(
    found(({ chains }) => ({
      chains: chains.map((chain) => (chain.id === 'order-1' ? { ...chain, state: 'blocked' } : chain)),
    })),
    ['live'],
  )
  assert.deepEqual(
    found(({ jobs }) => ({ jobs: jobs.map((job) => (job.id === 'order-1/0' ? { ...job, state: 'queued' } : job)) })),
    ['live'],
  )
})

test('every order is started once, and orders that share stock are not started together', () => {
  for (const count of [1, 99, 100, 250, 2_000]) {
    const started = startOrder(count)
    assert.deepEqual(started.toSorted((one, other) => one - other).join(), [...started.keys()].join())
  }
})

test('sqlite: 3 s of kills over 40 orders', async (t) => {
  const flags = ['--case', 'chains', '--driver', 'sqlite', '--seconds', '3', '--chains', '40']
  const { output, report } = await chaos(t, ...flags)
  const { violations, kills, rows, chains, jobs } = report as unknown as ChainsReport
  // On a slow machine too little may happen in so short a time.
  assert.deepEqual(violations, [], output)
  assert.ok(kills >= 1, output)
  assert.deepEqual([chains, jobs], [40 * 4 + 4, 40 * 6 + 4], output)
  const none = { twice: 0, rowsWithoutJob: 0, jobsWithoutRow: 0 }
  assert.deepEqual(rows, { started: { rows: 40, jobs: 40, ...none }, done: { rows: 200, jobs: 200, ...none } })
  t.diagnostic(output.trim().split('\n').at(-1)!)
})
