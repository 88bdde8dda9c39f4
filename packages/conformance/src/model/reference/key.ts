// Deduplication keys in the reference: when a job takes one, and what an add does whose key another job holds.

import type { Deduplication, NewJob } from 'holdfast/storage'
import { due, isInForce, type Job, type Mark, nameOf, tailOf, type World } from '../reference.ts'
import { goBehind } from './end.ts'

const isBegun = (world: World, head: Job): boolean => head.phase === 'processing' || tailOf(world, head) !== head

/** The job that a new one follows: the holder of its key has begun, and both have mode followUp. */
export function followedBy(world: World, { type, deduplication }: NewJob): Job | undefined {
  if (deduplication?.mode !== 'followUp') return undefined
  const mark = world.marks.get(nameOf(type, deduplication.key))
  const isHeld = mark?.mode === 'followUp' && isInForce(world, mark) && isBegun(world, mark.first)
  return isHeld ? mark.first : undefined
}

/**
 * What an add does whose key another live job holds. It replaces the payload of that job, if the verdict is `replaced`.
 * @param replaced the jobs whose payload this call replaced
 */
export function onHeldKey(
  world: World,
  made: NewJob,
  mark: Mark,
  replaced: Set<Job>,
): 'added' | 'replaced' | 'duplicate' {
  const { first } = mark
  const wanted = made.deduplication!
  if (wanted.mode !== mark.mode || (wanted.mode !== 'debounce' && wanted.mode !== 'followUp')) {
    return 'duplicate'
  }
  if (mark.replacedBy === made.token && !replaced.has(first)) return 'replaced'
  if (isBegun(world, first)) return 'added'
  if (wanted.mode === 'followUp' && first.phase !== 'blocked') return 'duplicate'
  first.payload = made.payload
  mark.replacedBy = made.token
  replaced.add(first)
  if (wanted.mode === 'debounce') {
    const latest = first.createdAt + (wanted.maxWaitMs ?? Infinity)
    goBehind(world, first, Math.max(world.now, Math.min(world.now + wanted.windowMs, latest)))
  }
  return 'replaced'
}

/** A debounced job is due after its window. */
export function firstDue(world: World, { deduplication, ...when }: NewJob): number {
  if (deduplication?.mode !== 'debounce') return due(world, when)
  return world.now + Math.min(deduplication.windowMs, deduplication.maxWaitMs ?? Infinity)
}

export function takeKey(world: World, job: Job, deduplication: Deduplication): void {
  const { key, mode } = deduplication
  const name = nameOf(job.type, key)
  const held = world.marks.get(name)
  // Shared and already taken by an earlier job of this call.
  if (held?.shared && isInForce(world, held)) return
  const shared = mode === 'throttle' && deduplication.shared === true
  const version = mode === 'ascending' ? deduplication.version : 0
  job.mark = {
    key,
    mode,
    windowMs: lastsMs(deduplication),
    version,
    shared,
    first: job,
    orphaned: false,
    replacedBy: undefined,
  }
  world.marks.set(name, job.mark)
}

/** How long a key is held at the longest, or its version is known. */
function lastsMs(deduplication: Deduplication): number {
  switch (deduplication.mode) {
    case 'simple':
    case 'throttle':
      return deduplication.windowMs ?? Infinity
    case 'ascending':
      return deduplication.ttlMs ?? Infinity
    default:
      return Infinity
  }
}
