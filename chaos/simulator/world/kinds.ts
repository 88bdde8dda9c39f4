// The kinds of jobs of a run. Each but the last two is a Queue of its own.

import type { EnqueueOptions, QueueConfig } from 'holdfast'
import { storedType } from 'holdfast/storage'
import type { Random } from '../../random.ts'
import type { TypeFacts } from '../history/entries.ts'
import type { Setup } from './setup.ts'

const queueKinds = ['plain', 'ordered', 'fair', 'limited', 'keyed', 'slots'] as const
export const kinds = [...queueKinds, 'chains', 'tasks'] as const
export type QueueKind = (typeof queueKinds)[number]
export type Kind = (typeof kinds)[number]

export const isQueueKind = (kind: Kind): kind is QueueKind => kind !== 'chains' && kind !== 'tasks'

/** The types of the chains: an order waits for two parts and is shipped; every second part is weighed. */
const chainTypes = ['part', 'weigh', 'order', 'ship'] as const

/** The queue that the tasks are sent to. */
export const taskQueue = 'default'

export const storedTypesOf = (kind: Kind): string[] =>
  kind === 'chains'
    ? chainTypes.map((name) => storedType('chain', name))
    : [kind === 'tasks' ? storedType('task', taskQueue) : storedType('queue', kind)]

/** The options of the Queue of a kind, on every process. */
export function queueOptionsOf(kind: QueueKind, setup: Setup): Omit<QueueConfig<string, string>, 'storage'> {
  const { leaseMs, pollMs, concurrency, maxAttempts, backoff, resultTTL, prefetchMs, limits } = setup
  return {
    name: kind,
    leaseMs,
    pollMs,
    concurrency,
    maxAttempts,
    resultTTL,
    prefetchMs,
    backoff: { type: 'exponential', ...backoff },
    presenceMs: false,
    ...(kind === 'limited' && {
      limits: {
        concurrency: limits.concurrency,
        rate: limits.rate,
        ...(limits.groupLimit && { group: { limit: limits.groupLimit } }),
      },
    }),
    ...(kind === 'slots' && { schedules: { tick: { everyMs: 1_000, payload: 'payload-tick', catchUp: 'all' } } }),
  }
}

/** What the checks know of the types of a kind. */
export function factsOf(kind: Kind, setup: Setup): TypeFacts[] {
  const { leaseMs, maxAttempts, backoff, limits } = setup
  return storedTypesOf(kind).map((type) => ({
    type,
    leaseMs,
    maxAttempts,
    endedByWorker: kind === 'tasks',
    backoff,
    ...(kind === 'limited' && { concurrency: limits.concurrency, rate: limits.rate, groupLimit: limits.groupLimit }),
    plain: kind === 'plain',
    fair: kind === 'fair',
  }))
}

const [groups, keys, priorities] = [
  ['a', 'b', 'c'],
  ['k', 'l'],
  [-5, 0, 0, 0, 7],
]

/** The options of one job. */
export function jobOptionsOf(kind: QueueKind, random: Random): EnqueueOptions {
  const delayMs = random.next() < 0.3 ? random.integer(0, 1_500) : undefined
  switch (kind) {
    case 'ordered':
      return { delayMs, group: { key: random.pick(groups), ordered: true } }
    case 'fair':
      return { group: random.pick(groups) }
    case 'limited':
      return { delayMs, weight: random.integer(1, 2), group: random.next() < 0.6 ? random.pick(groups) : undefined }
    case 'keyed':
      return keyedOptions(random, delayMs)
    default: {
      const onDuplicate = random.next() < 0.2 ? 'replace' : 'return'
      return {
        delayMs,
        priority: random.pick(priorities),
        onDuplicate,
        expiresInMs: random.next() < 0.05 ? 2_000 : undefined,
      }
    }
  }
}

function keyedOptions(random: Random, delayMs: number | undefined): EnqueueOptions {
  const key = random.pick(keys)
  const mode = random.pick(['simple', 'simple', 'simple', 'throttle', 'debounce', 'followUp'] as const)
  // A key has one mode.
  const deduplication =
    mode === 'throttle'
      ? { key: `${key}-throttle`, mode, windowMs: 700 }
      : mode === 'debounce'
        ? { key: `${key}-debounce`, mode, windowMs: 300, maxWaitMs: 1_500 }
        : { key: `${key}-${mode}`, mode }
  return mode === 'debounce' ? { deduplication } : { delayMs, deduplication }
}
