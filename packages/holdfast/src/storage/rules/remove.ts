// remove: deletes ended chains, now or later; or whole trees, all of them or none.

import { isTerminal } from './job/states.ts'
import type { JobRef, RemoveOptions, RemoveVerdict } from '../storage.ts'
import { expireLater, forget } from './job/finish.ts'
import { find, type Job, type Move, refOf, rootOf } from './move.ts'

export function remove(move: Move, refs: readonly JobRef[], options: RemoveOptions<unknown>): RemoveVerdict[] {
  if (options.trees) return removeTrees(move, refs)
  return refs.map((ref) => removeEnded(move, find(move, ref), options.afterMs))
}

function removeEnded(move: Move, chain: Job | undefined, afterMs: number | undefined): RemoveVerdict {
  if (!chain) return { verdict: 'not_found' }
  if (chain !== chain.chain) return { verdict: 'not_root', root: refOf(chain.chain) }
  if (!isTerminal(chain.tail.state)) return { verdict: 'not_terminal' }
  if (afterMs !== undefined) {
    const until = move.now + afterMs
    chain.expiresAt = until
    expireLater(move, chain)
    return { verdict: 'kept', until }
  }
  if (chain.dependents?.size) return { verdict: 'referenced', by: [...chain.dependents].map(refOf) }
  forget(move, chain)
  return { verdict: 'removed' }
}

function removeTrees(move: Move, refs: readonly JobRef[]): RemoveVerdict[] {
  const roots = refs.map((ref) => find(move, ref))
  const chains = new Set<Job>()
  for (const root of roots) if (root && isRoot(root)) addTree(move, root, chains)
  const verdicts = roots.map((root): RemoveVerdict => {
    if (!root) return { verdict: 'not_found' }
    if (!isRoot(root)) return { verdict: 'not_root', root: rootOf(root) }
    const by = outsiders(root, chains)
    return by.length > 0 ? { verdict: 'referenced', by: by.map(refOf) } : { verdict: 'removed' }
  })
  if (verdicts.some(({ verdict }) => verdict !== 'removed')) {
    return verdicts.map((verdict) => (verdict.verdict === 'removed' ? { verdict: 'untouched' } : verdict))
  }
  for (const chain of chains) forget(move, chain)
  return verdicts
}

function isUnder(job: Job, { id, type }: Job): boolean {
  const root = rootOf(job)
  return root.id === id && root.type === type.name
}

const isRoot = (job: Job): boolean => job === job.chain && isUnder(job, job)

/** Adds a chain, and every chain that was started to block one of its jobs. */
function addTree(move: Move, chain: Job, chains: Set<Job>): void {
  const open = [chain]
  for (let next = open.pop(); next; next = open.pop()) {
    if (chains.has(next)) continue
    chains.add(next)
    for (const job of move.jobsOf(next)) {
      for (const { ref } of job.blockers ?? []) {
        const blocker = find(move, ref)
        if (blocker && blocker === blocker.chain && isUnder(blocker, chain)) open.push(blocker)
      }
    }
  }
}

/** Unfinished jobs outside the trees that need a chain under this root. */
function outsiders(root: Job, chains: ReadonlySet<Job>): Job[] {
  const found = new Set<Job>()
  for (const chain of chains) {
    if (!isUnder(chain, root)) continue
    for (const dependent of chain.dependents ?? []) if (!chains.has(dependent.chain)) found.add(dependent)
  }
  return [...found]
}
