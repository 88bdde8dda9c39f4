// Deduplication keys: how long one is held, when it is free again, and what an add with a held key does.

import type { Deduplication, DeduplicationMode } from '../../storage.ts'
import { isTerminal, isWaiting, type TerminalState } from './states.ts'
import { isGone, type Job, type Mark, type MarkFields, type Move } from '../move.ts'
import { moveToBack, reschedule } from './wait.ts'

export function isInForce(move: Move, mark: Mark): boolean {
  if (mark.mode === 'ascending') return isRemembered(move, mark) && mark.job !== undefined && isLive(move, mark.job)
  if (mark.until !== Infinity) return move.now < mark.until
  return mark.job !== undefined && !isGone(move, mark.job)
}

/** True if the last version of the key is still known. */
export const isRemembered = (move: Move, mark: Mark): boolean => mark.mode === 'ascending' && move.now < mark.until

const isLive = (move: Move, job: Job): boolean => !isGone(move, job) && !isTerminal(job.chain.tail.state)

/** True of a key that may be held when its job is gone. */
export const outlivesJob = (mode: DeduplicationMode): boolean => mode === 'throttle' || mode === 'ascending'

/** How long a key is held at least, or its version is known. Undefined: its job decides, or for ever. */
export function lastsMs(deduplication: Deduplication): number | undefined {
  const { mode } = deduplication
  if (mode === 'ascending') return deduplication.ttlMs
  return mode === 'simple' || mode === 'throttle' ? deduplication.windowMs : undefined
}

/** Frees the key of an ended chain, unless its window goes on. */
export function freeKey(move: Move, chain: Job, state: TerminalState): void {
  const { mark } = chain
  if (!mark || mark.shared || mark.mode === 'ascending') return
  if (mark.mode !== 'throttle' || state !== 'completed') dropKey(move, chain, mark)
}

/** Frees the key of a deleted record. A window outlives the record. */
export function forgetKey(move: Move, chain: Job): void {
  const { mark } = chain
  if (!mark || mark.mode === 'ascending') return
  if (mark.mode !== 'throttle' || mark.until === Infinity) dropKey(move, chain, mark)
}

/** Takes the key of a revived chain again. False if another job holds it now. */
export function retakeKey(move: Move, chain: Job): boolean {
  const { mark } = chain
  if (!mark || mark.shared || mark.mode === 'ascending') return true
  const holder = move.markOf(chain.type, mark.key)
  if (holder === mark) return true
  if (holder && isInForce(move, holder)) return false
  if (mark.until > move.now) hold(move, chain, mark, undefined)
  return true
}

/**
 * What an add with a key does that a job holds: `refuse` it, `replace` the payload of that job, add a job that runs `after` it, or
 * `add` a job that takes the key over.
 */
export function effectOn(holder: Job, mode: DeduplicationMode, held: Mark): 'refuse' | 'replace' | 'after' | 'add' {
  if (mode !== held.mode || (mode !== 'debounce' && mode !== 'followUp')) return 'refuse'
  const { tail } = holder.chain
  const isAlone = tail === holder.chain
  if (mode === 'debounce') return isAlone && (isWaiting(tail.state) || tail.state === 'blocked') ? 'replace' : 'add'
  // Only a follower is blocked and runs whatever its blocker ends in.
  if (isAlone && tail.state === 'blocked' && tail.onBlockerFailure === 'run') return 'replace'
  return isAlone && (isWaiting(tail.state) || tail.state === 'blocked') ? 'refuse' : 'after'
}

/** Replaces the payload of the job that holds a key, and remembers which add did. */
export function replacePayload(move: Move, holder: Job, held: Mark, payload: Job['payload'], token: string): void {
  move.touch(holder)
  holder.payload = payload
  hold(move, holder, held, token)
}

function hold(move: Move, chain: Job, mark: Mark, replacedBy: string | undefined): void {
  chain.mark = move.holdKey(chain, { ...markFieldsOf(mark), replacedBy })
}

/** Starts the window of a debounced job anew. */
export function restartWindow(
  move: Move,
  job: Job,
  deduplication: Deduplication & { readonly mode: 'debounce' },
): void {
  const { windowMs, maxWaitMs = Infinity } = deduplication
  const runAt = Math.max(move.now, Math.min(move.now + windowMs, job.createdAt + maxWaitMs))
  if (isWaiting(job.state)) reschedule(move, job, runAt)
  else {
    move.touch(job)
    moveToBack(move, job, runAt)
  }
}

export const markFieldsOf = (mark: MarkFields): MarkFields => ({
  key: mark.key,
  id: mark.id,
  token: mark.token,
  mode: mark.mode,
  shared: mark.shared,
  until: mark.until,
  replacedBy: mark.replacedBy,
  version: mark.version,
})

function dropKey(move: Move, chain: Job, mark: Mark): void {
  if (move.markOf(chain.type, mark.key) !== mark) return
  const followed = mark.mode === 'followUp' ? followedBy(move, chain, mark) : undefined
  if (!followed) return move.dropKey(chain.type, mark)
  move.touch(followed)
  hold(move, followed, followed.mark!, undefined)
}

/** The job that a follower waits for, if that is live: the key goes back to it, so that the next add follows it too. */
function followedBy(move: Move, { blockers }: Job, { key }: Mark): Job | undefined {
  const followed = blockers?.length === 1 ? move.stored(blockers[0]!.ref) : undefined
  const isFollowed = followed?.mark?.mode === 'followUp' && followed.mark.key === key
  return isFollowed && isLive(move, followed) ? followed : undefined
}
