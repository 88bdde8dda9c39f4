// The work of the memory driver does not grow with the backlog. Steps are counted: operations of heaps and sorted lists, the
// comparisons of each, and the lengths of the arrays that are scanned or shifted.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { promiseHooks } from 'node:v8'
import { MemoryStorage, Queue } from 'holdfast'
import { type NewJob } from 'holdfast/storage'
import { Heap, type HeapSlot } from '../../../src/storage/memory/heap.ts'
import { SortedList } from '../../../src/storage/memory/sorted-list.ts'
import { defaultType } from '../../../src/storage/stored-type.ts'

interface Item extends HeapSlot {
  readonly rank: number
}

/** The largest number of comparisons in one step. */
function mostComparisons(size: number): { first: number; any: number } {
  let comparisons = 0
  const heap = new Heap<Item>((a, b) => {
    comparisons++
    return a.rank < b.rank
  })
  const items = Array.from({ length: size }, (_, index): Item => ({ rank: (index * 7_919) % size, heapIndex: -1 }))
  for (const item of items) heap.push(item)
  const counted = (step: () => void): number => {
    comparisons = 0
    step()
    return comparisons
  }
  const worst = { first: 0, any: 0 }
  for (let round = 0; round < 300; round++) {
    worst.first = Math.max(
      worst.first,
      counted(() => heap.pop()),
    )
    const item = items[(round * 31) % size]!
    if (item.heapIndex === -1) continue
    worst.any = Math.max(
      worst.any,
      counted(() => heap.remove(item)),
    )
  }
  return worst
}

test('[trap 39] removing the first or any job of a million takes at most twice the comparisons of a thousand', () => {
  const [few, many] = [mostComparisons(1_000), mostComparisons(1_000_000)]
  for (const which of ['first', 'any'] as const) {
    assert.ok(many[which] <= 2.5 * few[which], `${which}: ${many[which]} and ${few[which]}`)
    assert.ok(many[which] <= 2 * Math.log2(1_000_000) + 2, `${which}: ${many[which]}`)
  }
})

const retention = { completedMs: 60_000, failedMs: 60_000, cancelledMs: 60_000 }
const types = [{ type: defaultType, leaseMs: 60_000 }]

async function filled(size: number): Promise<MemoryStorage> {
  const storage = new MemoryStorage()
  await fill(storage, 'j', size)
  return storage
}

async function fill(storage: MemoryStorage, name: string, size: number, fields?: Partial<NewJob>): Promise<void> {
  for (let start = 0; start < size; start += 1_000) {
    await storage.add(
      Array.from({ length: 1_000 }, (_, index): NewJob => {
        const id = `${name}${start + index}`
        return { type: defaultType, id, token: id, retention, ...fields }
      }),
    )
  }
}

/** Operations of heaps and sorted lists, and elements of arrays that are scanned or moved, during the calls. */
async function steps(run: () => Promise<void>): Promise<number> {
  let count = 0
  const restores: (() => void)[] = []
  const watch = (target: object, name: string, cost: (self: unknown) => number): void => {
    const original = Reflect.get(target, name) as (...args: unknown[]) => unknown
    const descriptor = Object.getOwnPropertyDescriptor(target, name)!
    const value = function watched(this: unknown, ...args: unknown[]): unknown {
      count += cost(this)
      return Reflect.apply(original, this, args)
    }
    Object.defineProperty(target, name, { ...descriptor, value })
    restores.push(() => Object.defineProperty(target, name, descriptor))
  }
  for (const name of ['push', 'pop', 'remove']) watch(Heap.prototype, name, () => 1)
  for (const name of ['push', 'peek', 'remove']) watch(SortedList.prototype, name, () => 1)
  const walks = ['shift', 'unshift', 'splice', 'indexOf', 'includes', 'find', 'findIndex', 'filter', 'map', 'sort']
  for (const name of walks) watch(Array.prototype, name, (self) => (self as unknown[]).length)
  try {
    await run()
  } finally {
    for (const restore of restores) restore()
  }
  return count
}

test('[trap 39] a claim, a settle and a cancel take as many steps with a hundred thousand waiting as with a thousand', async () => {
  const costs: Record<string, number[]> = { claim: [], settle: [], cancel: [] }
  for (const size of [1_000, 100_000]) {
    const storage = await filled(size)
    const claim = (worker: string): ReturnType<MemoryStorage['claim']> => storage.claim({ worker, slots: 10, types })
    const { jobs } = await claim('first')
    costs.claim!.push(await steps(async () => void (await claim('second'))))
    const outcomes = jobs.map(({ type, id, worker, attempt }) => ({
      type,
      id,
      worker,
      attempt,
      kind: 'completed' as const,
    }))
    costs.settle!.push(await steps(async () => void (await storage.settle(outcomes))))
    const refs = Array.from({ length: 10 }, (_, n) => ({ type: defaultType, id: `j${(size >> 1) + n}` }))
    costs.cancel!.push(await steps(async () => void (await storage.cancel(refs))))
  }
  for (const [verb, [few, many]] of Object.entries(costs)) {
    assert.ok(few! > 0, verb)
    assert.ok(many! <= few!, `${verb}: ${many} steps and ${few}`)
  }
})

test('[F21] [F24] a hundred thousand jobs that wait in two full groups cost other claims at most 20 %', async () => {
  const limits = { group: { limit: 1 } }
  const costs: { plain: number[]; limited: number[] } = { plain: [], limited: [] }
  for (const size of [0, 50_000]) {
    const storage = await filled(1_000)
    for (const key of ['ordered', 'unordered']) {
      const group = key === 'ordered' ? { key, ordered: true as const } : { key }
      await fill(storage, key, size, { group })
    }
    // Takes the first job of each group, and some jobs without one.
    await storage.claim({ worker: 'first', slots: 20, types: [{ ...types[0]!, limits }] })
    const cost = (worker: string, wanted: typeof types): Promise<number> =>
      steps(async () => assert.equal((await storage.claim({ worker, slots: 10, types: wanted })).jobs.length, 10))
    costs.plain.push(await cost('second', types))
    costs.limited.push(await cost('third', [{ ...types[0]!, limits } as (typeof types)[0]]))
  }
  for (const [which, [without, withGroups]] of Object.entries(costs)) {
    assert.ok(without! > 0, which)
    assert.ok(withGroups! <= 1.2 * without!, `${which}: ${withGroups} steps and ${without}`)
  }
})

test('[F24] a claim of a group takes as many steps with a hundred thousand waiting as with a thousand', async () => {
  const costs: number[] = []
  for (const size of [1_000, 100_000]) {
    const storage = new MemoryStorage()
    await fill(storage, 'a', size, { group: { key: 'a' } })
    await fill(storage, 'b', size, { group: { key: 'b' } })
    const claim = (worker: string): ReturnType<MemoryStorage['claim']> => storage.claim({ worker, slots: 10, types })
    await claim('first')
    costs.push(await steps(async () => void (await claim('second'))))
  }
  assert.ok(costs[1]! <= costs[0]!, `${costs[1]} steps and ${costs[0]}`)
})

test('a request makes at most 27 promises, the handler of the job included', async (t) => {
  const queue = new Queue<number, number>({ storage: new MemoryStorage(), concurrency: 10 })
  queue.execute(async ({ payload }) => payload)
  await queue.start()
  t.after(() => queue.stop())
  for (let n = 0; n < 100; n++) await queue.enqueueAndWait(`warm-${n}`, n)
  let promises = 0
  const requests = 320
  const stop = promiseHooks.onInit(() => promises++)
  for (let n = 0; n < requests; n++) await queue.enqueueAndWait(`job-${n}`, n)
  stop()
  assert.ok(promises / requests <= 27, `${promises / requests} promises`)
})
