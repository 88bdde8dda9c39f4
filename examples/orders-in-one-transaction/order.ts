// An order, the jobs that belong to it, and what the shop does not accept.

import { generateId } from 'holdfast'
import { type NewJob } from 'holdfast/storage'

export interface Order {
  readonly id: string
  readonly customer: string
  readonly cents: number
}

export const steps = ['receipt', 'parcel'] as const

const dayMs = 86_400_000
const mostCents = 100_000

/** One for each step, under the id of the order: a second one for the same order would be a duplicate. */
export function jobsOf(order: Order): NewJob[] {
  return steps.map((type) => ({
    type,
    id: order.id,
    token: generateId(),
    payload: Buffer.from(JSON.stringify(order)),
    retention: { completedMs: dayMs, failedMs: dayMs, cancelledMs: dayMs },
  }))
}

/** @throws Error: the transaction that wrote the order is to be rolled back */
export function checkCredit({ id, cents }: Order): void {
  if (cents > mostCents) throw new Error(`${id}: ${cents / 100} is more than anybody may spend at once`)
}
