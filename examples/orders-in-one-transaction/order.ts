// An order, the jobs that belong to it, and the limit that the shop checks.

import type { Queue } from 'holdfast'

export interface Order {
  readonly id: string
  readonly customer: string
  readonly cents: number
}

/** Names of the queues: each has one job per order. */
export const steps = ['receipt', 'parcel'] as const

const mostCents = 100_000

/** Adds the jobs of an order in the given transaction, under the order's id: a second order of that id is a duplicate. */
export async function enqueueSteps(queues: readonly Queue<Order>[], order: Order, tx: object): Promise<void> {
  for (const queue of queues) await queue.enqueue(order.id, order, { tx })
}

/** @throws Error, which rolls back the transaction that wrote the order */
export function checkCredit({ id, cents }: Order): void {
  if (cents > mostCents) throw new Error(`${id}: ${cents / 100} is above the limit of ${mostCents / 100}`)
}
