// Where the jobs of a tree stand in its graph: in layers from left to right, each job to the right of all that it follows.

import type { JobTree, TreeJob } from './api.ts'

export interface PlacedJob {
  readonly job: TreeJob
  readonly layer: number
  readonly row: number
}

export interface Edge {
  readonly from: PlacedJob
  readonly to: PlacedJob
  /** `next`: the job that continues the chain. `blocker`: the job waits, or waited, for the chain that `from` ends. */
  readonly kind: 'next' | 'blocker'
}

export interface Graph {
  readonly jobs: readonly PlacedJob[]
  readonly edges: readonly Edge[]
  readonly layers: number
  /** Rows of each layer. */
  readonly rowsOf: readonly number[]
  /** Rows of the highest layer. */
  readonly rows: number
}

type Ref = Pick<TreeJob, 'face' | 'name' | 'id'>

const keyOf = ({ face, name, id }: Ref): string => JSON.stringify([face, name, id])

export function graphOf({ jobs }: Pick<JobTree, 'jobs'>): Graph {
  const chains = Map.groupBy(jobs, ({ chain }) => keyOf(chain))
  for (const chain of chains.values()) chain.sort((a, b) => a.chainIndex - b.chainIndex)
  const before = (job: TreeJob): (readonly [TreeJob, Edge['kind']])[] => {
    const chain = chains.get(keyOf(job.chain))!
    const previous = chain[chain.indexOf(job) - 1]
    const tails = job.blockers.flatMap((blocker) => chains.get(keyOf(blocker))?.at(-1) ?? [])
    return [...(previous ? [[previous, 'next'] as const] : []), ...tails.map((tail) => [tail, 'blocker'] as const)]
  }
  const layers = new Map<TreeJob, number>()
  const layerOf = (job: TreeJob): number => {
    const known = layers.get(job)
    if (known !== undefined) return known
    // Chains cannot wait for one another in a circle; a record that says so must not hang the page.
    layers.set(job, 0)
    const layer = Math.max(-1, ...before(job).map(([previous]) => layerOf(previous))) + 1
    layers.set(job, layer)
    return layer
  }
  for (const job of jobs) layerOf(job)
  pullRight(jobs, before, layers)
  const rows: number[] = []
  const placed = new Map<TreeJob, PlacedJob>()
  for (const job of jobs) {
    const layer = layers.get(job)!
    const row = rows[layer] ?? 0
    rows[layer] = row + 1
    placed.set(job, { job, layer, row })
  }
  const edges = jobs.flatMap((job) =>
    before(job).map(([previous, kind]): Edge => ({ from: placed.get(previous)!, to: placed.get(job)!, kind })),
  )
  return { jobs: [...placed.values()], edges, layers: rows.length, rowsOf: rows, rows: Math.max(0, ...rows) }
}

/** Moves each job next to the first that follows it, so that few edges pass behind other jobs. */
function pullRight(
  jobs: readonly TreeJob[],
  before: (job: TreeJob) => readonly (readonly [TreeJob, Edge['kind']])[],
  layers: Map<TreeJob, number>,
): void {
  const followers = new Map<TreeJob, TreeJob[]>()
  for (const job of jobs) {
    for (const [previous] of before(job)) followers.set(previous, [...(followers.get(previous) ?? []), job])
  }
  // From the right: what follows a job has its place by then.
  for (const job of jobs.toSorted((a, b) => layers.get(b)! - layers.get(a)!)) {
    const next = (followers.get(job) ?? []).map((follower) => layers.get(follower)!)
    if (next.length > 0) layers.set(job, Math.max(layers.get(job)!, Math.min(...next) - 1))
  }
}

/** Without the completed jobs, except the one that is looked at. */
export function unfinished(jobs: readonly TreeJob[], shown: Ref): TreeJob[] {
  return jobs.filter((job) => job.state !== 'completed' || keyOf(job) === keyOf(shown))
}
