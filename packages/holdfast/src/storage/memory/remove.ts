// remove: ended chains, now or later; or whole trees, all of them or none.

import { isTerminal } from '../../job/states.ts'
import type { JobRef, RemoveOptions, RemoveVerdict } from '../storage.ts'
import { type Job, refOf } from './data.ts'
import { expireLater, forget } from './finish.ts'
import type { Move } from './move.ts'

export function remove(move: Move, refs: readonly JobRef[], options: RemoveOptions<never>): RemoveVerdict[] {
  if (options.trees) return removeTrees(move, refs)
  return refs.map((ref) => removeEnded(move, move.find(ref), options.afterMs))
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
  move.data.prune(chain.type)
  return { verdict: 'removed' }
}

function removeTrees(move: Move, refs: readonly JobRef[]): RemoveVerdict[] {
  const roots = refs.map((ref) => move.find(ref))
  const chains = new Set<Job>()
  for (const root of roots) if (root && isRoot(root)) addTree(move, root, chains)
  const verdicts = roots.map((root): RemoveVerdict => {
    if (!root) return { verdict: 'not_found' }
    if (!isRoot(root)) return { verdict: 'not_root', root: root.root }
    const by = outsiders(root, chains)
    return by.length > 0 ? { verdict: 'referenced', by: by.map(refOf) } : { verdict: 'removed' }
  })
  if (verdicts.some(({ verdict }) => verdict !== 'removed')) {
    return verdicts.map((verdict) => (verdict.verdict === 'removed' ? { verdict: 'untouched' } : verdict))
  }
  for (const chain of chains) forget(move, chain)
  for (const chain of chains) move.data.prune(chain.type)
  return verdicts
}

const isUnder = ({ root }: Job, { id, type }: Job): boolean => root.id === id && root.type === type.name

const isRoot = (job: Job): boolean => job === job.chain && isUnder(job, job)

/** A chain, and all chains that were started to block one of its jobs. */
function addTree(move: Move, chain: Job, chains: Set<Job>): void {
  const open = [chain]
  for (let next = open.pop(); next; next = open.pop()) {
    if (chains.has(next)) continue
    chains.add(next)
    for (const job of next.jobs ?? [next]) {
      for (const { ref } of job.blockers ?? []) {
        const blocker = move.find(ref)
        if (blocker && blocker === blocker.chain && isUnder(blocker, chain)) open.push(blocker)
      }
    }
  }
}

/** Unfinished jobs outside that need a chain of this root's tree. */
function outsiders(root: Job, chains: ReadonlySet<Job>): Job[] {
  const found = new Set<Job>()
  for (const chain of chains) {
    if (!isUnder(chain, root)) continue
    for (const dependent of chain.dependents ?? []) if (!chains.has(dependent.chain)) found.add(dependent)
  }
  return [...found]
}
