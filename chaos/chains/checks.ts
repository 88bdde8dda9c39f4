// What must hold of the chains at the end: each exists, has every job once, and ends once with the right output. Pure
// functions of the listed records and of the workers' logs.

import type { Entry } from '../entries.ts'
import { type Violation, violation } from '../history.ts'
import { chainsAsked, idOf, partsOf, stocksOf } from './types.ts'

export interface FinalJob {
  readonly id: string
  readonly typeName: string
  readonly chainId: string
  readonly chainIndex: number
  readonly state: string
}

export interface FinalChain {
  readonly id: string
  readonly typeName: string
  readonly input: number
  readonly state: string
  readonly output?: number
}

export interface Final {
  readonly orders: number
  readonly chains: readonly FinalChain[]
  readonly jobs: readonly FinalJob[]
  readonly entries: readonly Entry[]
}

export function checkChains({ orders, chains, jobs, entries }: Final): Violation[] {
  const linksOf = Map.groupBy(jobs, ({ chainId }) => chainId)
  const known = new Set(chains.map(({ id }) => id))
  const ends = Map.groupBy(
    entries.flatMap((entry) => (entry.what === 'chainEnded' ? [entry] : [])),
    ({ chain }) => chain,
  )
  return [
    ...missing(orders, chains),
    ...chains.flatMap((chain) => checkChain(chain, linksOf.get(chain.id) ?? [])),
    ...jobs.filter(({ chainId }) => !known.has(chainId)).map(stray),
    ...[...ends].flatMap(([chain, reports]) =>
      reports.length > 1
        ? [violation('ends', `${chain} was reported to have ended ${reports.length} times`, undefined, reports)]
        : [],
    ),
  ]
}

function missing(orders: number, chains: readonly FinalChain[]): Violation[] {
  const there = new Set(chains.map(({ id }) => id))
  const all = Array.from({ length: orders }, (_, order) => order)
  const asked = [
    ...all.map((order) => idOf('order', order)),
    ...all.flatMap((order) => partsOf(order).map((part) => idOf('part', part))),
    ...Array.from({ length: stocksOf(orders) }, (_, stock) => idOf('stock', stock)),
  ]
  const absent = asked.filter((id) => !there.has(id))
  const lost = absent.map((id) => violation('lost', `${id} is missing`))
  // One per order, under a generated id.
  const labels = chains.filter(({ typeName }) => typeName === 'label').length
  if (labels !== orders) lost.push(violation('lost', `${labels} labels for ${orders} orders`))
  const invented = chains.length - labels - (asked.length - absent.length)
  return invented === 0 ? lost : [...lost, violation('invented', `${invented} chains that were never started`)]
}

function checkChain(chain: FinalChain, links: readonly FinalJob[]): Violation[] {
  const asked = chainsAsked[chain.typeName]!(chain.input)
  const found: Violation[] = []
  if (chain.state !== 'completed') found.push(violation('live', `${chain.id} is ${chain.state}`))
  else if (chain.output !== asked.output) {
    found.push(violation('output', `${chain.id} ended with ${chain.output}, not with ${asked.output}`))
  }
  const indexes = links.map(({ chainIndex }) => chainIndex).toSorted((one, other) => one - other)
  if (indexes.join() !== Array.from({ length: asked.jobs }, (_, index) => index).join()) {
    found.push(violation('links', `${chain.id} has the jobs ${indexes.join(', ')} of ${asked.jobs}`))
  }
  for (const { id, state } of links) {
    if (state !== 'completed' && chain.state === 'completed') found.push(violation('live', `${id} is ${state}`))
  }
  return found
}

const stray = ({ id, chainId }: FinalJob): Violation =>
  violation('links', `${id} belongs to ${chainId}, which is missing`)
