// The chains of a run and their expected outputs. An order waits for two parts of its own and for stock that ten orders
// share; it continues as a shipment, which waits for a label.

import { defineJobTypes } from 'holdfast/chains'

export const types = defineJobTypes<{
  stock: { entry: true; input: number; output: number }
  part: { entry: true; input: number; output: number; continueWith: { typeName: 'weigh' } }
  weigh: { input: number; output: number }
  order: {
    entry: true
    input: number
    continueWith: { typeName: 'ship' }
    blockers: [{ typeName: 'part' }, { typeName: 'part' }, { typeName: 'stock' }]
  }
  label: { entry: true; input: number; output: number }
  ship: { input: number; output: number; blockers: [{ typeName: 'label' }] }
}>()

/** Types whose handlers write a user row in the transaction that completes the job. */
export const withRows: readonly string[] = ['part', 'weigh', 'order', 'ship']

const ordersPerStock = 10

export const stockOf = (order: number): number => Math.floor(order / ordersPerStock)

/**
 * The orders in the order of their start: orders that share stock soon after each other, but not together. Starts
 * with the same blocker chain wait for each other.
 */
export function startOrder(orders: number): number[] {
  const window = ordersPerStock ** 2
  return Array.from({ length: orders }, (_, index) => {
    const [first, place] = [index - (index % window), index % window]
    if (first + window > orders) return index
    return first + (place % ordersPerStock) * ordersPerStock + Math.floor(place / ordersPerStock)
  })
}

export const stocksOf = (orders: number): number => Math.ceil(orders / ordersPerStock)
export const partsOf = (order: number): readonly [number, number] => [2 * order, 2 * order + 1]

/** Every second part is weighed. */
export const isWeighed = (part: number): boolean => part % 2 === 1

export const idOf = (type: 'order' | 'part' | 'stock', n: number): string => `${type}-${n}`

const stockOutput = (stock: number): number => stock + 1
const partOutput = (part: number): number => 2 * part + 1

/** The sum of the outputs of its blockers. */
const orderSum = (order: number): number =>
  partsOf(order).reduce((sum, part) => sum + partOutput(part), stockOutput(stockOf(order)))

/** The number of jobs and the output of a chain, by its type and input. */
export const chainsAsked: Readonly<Record<string, (input: number) => { jobs: number; output: number }>> = {
  stock: (stock) => ({ jobs: 1, output: stockOutput(stock) }),
  part: (part) => ({ jobs: isWeighed(part) ? 2 : 1, output: partOutput(part) }),
  label: (sum) => ({ jobs: 1, output: -sum }),
  order: (order) => ({ jobs: 2, output: 3 * orderSum(order) - orderSum(order) }),
}
