// list: pages by key, so that rows that come and go neither repeat nor hide others. A scan: for people, not for work.

import { invalidArgument } from '../../errors.ts'
import type { JobState, ListQuery, Page } from '../storage.ts'
import type { Job } from './data.ts'
import { recordOf } from './get.ts'
import type { Move } from './move.ts'

type Key = readonly [createdAt: number, type: string, id: string]

export function list(move: Move, query: ListQuery): Page {
  const sign = query.order === 'asc' ? 1 : -1
  const after = query.cursor === undefined ? undefined : decodeCursor(query.cursor)
  const found: Job[] = []
  for (const name of query.types ? new Set(query.types) : move.data.types.keys()) {
    for (const job of move.data.types.get(name)?.jobs.values() ?? []) {
      if (matches(move, job, query) && (!after || sign * compare(keyOf(job), after) > 0)) found.push(job)
    }
  }
  found.sort((a, b) => sign * compare(keyOf(a), keyOf(b)))
  const parts = query.of === 'chains' ? [...(query.parts ?? []), 'tail' as const] : (query.parts ?? [])
  const items = found.slice(0, query.limit).map((job) => recordOf(move, job, parts))
  return found.length > query.limit ? { items, nextCursor: encodeCursor(keyOf(found[query.limit - 1]!)) } : { items }
}

function matches(move: Move, job: Job, query: ListQuery): boolean {
  if (move.isGone(job)) return false
  if (query.of === 'chains' && job !== job.chain) return false
  if (query.chain && (job.chain.id !== query.chain.id || job.chain.type.name !== query.chain.type)) return false
  if (query.rootOnly && (job.root.id !== job.chain.id || job.root.type !== job.chain.type.name)) return false
  if (query.createdFrom !== undefined && job.createdAt < query.createdFrom) return false
  if (query.createdTo !== undefined && job.createdAt >= query.createdTo) return false
  return !query.states || query.states.includes(stateOf(move, query.of === 'chains' ? job.tail : job))
}

const stateOf = (move: Move, job: Job): JobState =>
  job.state === 'scheduled' && job.runAt <= move.now ? 'queued' : job.state

const keyOf = (job: Job): Key => [job.createdAt, job.type.name, job.id]

function compare(a: Key, b: Key): number {
  if (a[0] !== b[0]) return a[0] - b[0]
  if (a[1] !== b[1]) return a[1] < b[1] ? -1 : 1
  return a[2] === b[2] ? 0 : a[2] < b[2] ? -1 : 1
}

const encodeCursor = (key: Key): string => Buffer.from(JSON.stringify(key)).toString('base64url')

function decodeCursor(cursor: string): Key {
  try {
    const key: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    if (Array.isArray(key) && typeof key[0] === 'number' && typeof key[1] === 'string' && typeof key[2] === 'string') {
      return [key[0], key[1], key[2]]
    }
  } catch {
    // Not one of ours: refused below.
  }
  throw invalidArgument('cursor', 'the nextCursor of an earlier page', cursor)
}
