// remove: deletes ended chains, now or later; or whole trees, all of them or none.

import { isTerminal } from './job/states.ts'
import type { JobRef, RemoveOptions, RemoveVerdict } from '../storage.ts'
import { expireLater, forget } from './job/finish.ts'
import { find, type Job, type Move, refOf, refsOf, rootOf } from './move.ts'

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
  const chains = chainsUnder(
    move,
    roots.flatMap((root) => (root && isRoot(root) ? [root] : [])),
  )
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

function hasRoot(job: Job, { type, id }: JobRef): boolean {
  const root = rootOf(job)
  return root.id === id && root.type === type
}

const isRoot = (job: Job): boolean => job === job.chain && hasRoot(job, refOf(job))

/** These chains, and every chain that was started to block one of their jobs. Level by level: all jobs of a level are loaded together. */
function chainsUnder(move: Move, roots: readonly Job[]): Set<Job> {
  const chains = new Set<Job>()
  for (let level = roots; level.length > 0;) {
    const added = level.filter((chain) => !chains.has(chain))
    for (const chain of added) chains.add(chain)
    const links = [...new Set(added)].flatMap((chain) =>
      move.jobsOf(chain).flatMap(({ blockers = [] }) => refsOf(blockers).map((ref) => ({ ref, root: rootOf(chain) }))),
    )
    move.loadTogether(
      links.map(({ ref }) => ref),
      'all',
    )
    level = links.flatMap(({ ref, root }) => {
      const blocker = find(move, ref)
      return blocker && blocker === blocker.chain && hasRoot(blocker, root) ? [blocker] : []
    })
  }
  return chains
}

/** Unfinished jobs outside the trees that need a chain under this root. */
function outsiders(root: Job, chains: ReadonlySet<Job>): Job[] {
  const found = new Set<Job>()
  for (const chain of chains) {
    if (!hasRoot(chain, refOf(root))) continue
    for (const dependent of chain.dependents ?? []) if (!chains.has(dependent.chain)) found.add(dependent)
  }
  return [...found]
}
