// searchFields and search: the fields by which a list finds jobs.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Queue, type QueueConfig } from 'holdfast'
import { defaultType, type Where } from 'holdfast/storage'
import { type Bench, bench, type TestDriver } from './driver.ts'
import { rejectsInput, throwsInput, watched } from './watched.ts'

interface Order {
  readonly customer: string
  readonly total?: number
}

const searchFields = { customerId: 'string', total: 'number', vip: 'boolean' } as const

async function found({ storage }: Bench, where: Where): Promise<string[]> {
  const { items } = await storage.list({ of: 'jobs', types: [defaultType], where, limit: 100 })
  return items.map(({ id }) => id).toSorted()
}

export function searchTests(driver: TestDriver): void {
  describe(`${driver.name}: search fields`, () => {
    test('[F30] a job is found by the fields of its call and of the queue’s function', async (t) => {
      const b = await bench(t, driver)
      const config: Partial<QueueConfig<Order, void>> = {
        searchFields,
        search: ({ customer, total }) => ({ customerId: customer, total }),
      }
      const queue = b.queue<Order, void>(config)
      await queue.enqueue('a', { customer: 'c-1', total: 5 })
      await queue.enqueue('b', { customer: 'c-1', total: 50 }, { search: { vip: true } })
      await queue.enqueue('c', { customer: 'c-2' }, { search: { customerId: 'c-3' } })
      await queue.enqueueMany([{ id: 'd', payload: { customer: 'c-1' }, search: { total: 7 } }])
      assert.deepEqual((await queue.get('b'))?.search, { customerId: 'c-1', total: 50, vip: true })
      assert.deepEqual((await queue.get('c'))?.search, { customerId: 'c-3' })
      assert.deepEqual(await found(b, { customerId: 'c-1' }), ['a', 'b', 'd'])
      assert.deepEqual(await found(b, { customerId: 'c-1', total: { gte: 7 } }), ['b', 'd'])
      assert.deepEqual(await found(b, { vip: true }), ['b'])
      assert.deepEqual(await found(b, { customerId: ['c-2', 'c-3'] }), ['c'])
    })

    test('[F30] without searchFields, any fields are accepted; a job without them has none', async (t) => {
      const b = await bench(t, driver)
      const queue = b.queue()
      await queue.enqueue('a', 1, { search: { anything: 'goes', n: 5 } })
      await queue.enqueue('b', 1)
      await queue.enqueue('c', 1, { search: {} })
      assert.deepEqual((await queue.get('a'))?.search, { anything: 'goes', n: 5 })
      assert.equal((await queue.get('b'))?.search, undefined)
      assert.equal((await queue.get('c'))?.search, undefined)
      assert.deepEqual(await found(b, { anything: 'goes' }), ['a'])
    })

    test('[F30] a field that is not declared, or of another type, is refused with its path', async (t) => {
      const { another, unmoved } = await watched(t, driver)
      const queue = another({ searchFields })
      const give = (search: object): Promise<unknown> => queue.enqueue('new', 1, { search: search as never })
      await unmoved(async () => {
        await rejectsInput('search', 'unknown', () => give({ customer: 'c-1' }))
        await assert.rejects(give({ customer: 'c-1' }), { message: /one of the searchFields customerId, total, vip/ })
        await rejectsInput('search', '__proto__', () => give(JSON.parse('{"__proto__":"x"}') as object))
        await rejectsInput('customerId', 5, () => give({ customerId: 5 }))
        await rejectsInput('total', '5', () => give({ total: '5' }))
        await rejectsInput('total', NaN, () => give({ total: NaN }))
        await rejectsInput('vip', null, () => give({ vip: null }))
        await rejectsInput('customerId', 'long', () => give({ customerId: 'x'.repeat(257) }))
        await rejectsInput('search', [], () => give(['c-1']))
        const seventeen = Object.fromEntries(Array.from({ length: 17 }, (_, n) => [`f${n}`, n]))
        await rejectsInput('search', seventeen, () => another({}).enqueue('new', 1, { search: seventeen }))
      })
    })

    test('[F30] what the queue’s function returns is checked alike, and what it throws is passed on', async (t) => {
      const { another, unmoved } = await watched(t, driver)
      const thrown = new Error('no customer')
      await unmoved(async () => {
        await rejectsInput('search()', 5, () => another({ search: () => 5 as never }).enqueue('new', 1))
        await rejectsInput('total', '5', () =>
          another({ searchFields, search: () => ({ total: '5' }) }).enqueue('new', 1),
        )
        const throwing = another({
          search: () => {
            throw thrown
          },
        })
        await assert.rejects(throwing.enqueue('new', 1), thrown)
        await assert.rejects(throwing.enqueueMany([{ id: 'new', payload: 1 }]), thrown)
      })
    })

    test('[F30] a declaration that is none is refused', async (t) => {
      const { storage } = await bench(t, driver)
      for (const value of [null, 'total', [], 5]) {
        throwsInput('searchFields', value, () => new Queue({ storage, searchFields: value as never }))
      }
      throwsInput('total', 'integer', () => new Queue({ storage, searchFields: { total: 'integer' as never } }))
      throwsInput('search', {}, () => new Queue({ storage, search: {} as never }))
    })
  })
}
