// Finds jobs by fields of their own: by a value, by one of several, by bounds.

import { MemoryStorage, Queue } from 'holdfast'

interface Order {
  readonly customer: string
  readonly total: number
  readonly lines: readonly string[]
}

const queue = new Queue<Order>({
  storage: new MemoryStorage(),
  name: 'orders',
  searchFields: { customer: 'string', total: 'number' },
  search: ({ customer, total }) => ({ customer, total }), // made from the payload of each job
})
await queue.enqueueMany([
  { id: 'o-1', payload: { customer: 'ada', total: 40, lines: ['tea'] } },
  { id: 'o-2', payload: { customer: 'grace', total: 250, lines: ['a ship'] } },
  { id: 'o-3', payload: { customer: 'ada', total: 180, lines: ['an engine'] } },
  { id: 'o-4', payload: { customer: 'edsger', total: 90, lines: ['a fountain pen'] } },
])

async function find(where: NonNullable<Parameters<typeof queue.list>[0]>['where']): Promise<string> {
  const { items } = await queue.list({ where, states: ['queued'], order: 'asc' })
  return items.map(({ id }) => id).join(' ')
}
console.log('of ada:', await find({ customer: 'ada' }))
console.log('of ada or grace, 100 and more:', await find({ customer: ['ada', 'grace'], total: { gte: 100 } }))
console.log('below 100:', await find({ total: { lt: 100 } }))

// A field that is not declared is refused, so that a typing error does not hide a job from searches.
const payload = { customer: 'ada', total: 1, lines: [] }
await queue.enqueue('o-5', payload, { search: { costumer: 'ada' } }).catch((error: Error) => console.log(error.message))
await queue.stop()
