// What operators do with tasks: count, list, read, revive and cancel them, on every queue of theirs that is over a storage.

import { listOf } from '../option-checks.ts'
import { HoldfastError } from '../errors.ts'
import type { JobState, ReviveVerdict } from '../storage/storage.ts'
import type { Enqueuing } from './enqueue.ts'
import type { CancelOptions, CancelResult } from '../engine/operate/cancel.ts'
import type { MessageQueue, StorageQueueDepth } from './queue/message-queue.ts'
import type { FailedMessage, MessageCounts, StoredMessage } from './queue/stored-message.ts'
import { decodeData, taskMessageOf } from './task-message.ts'

interface OfTask {
  /** Name of the task. Undefined of a message that is no task. */
  readonly task: string | undefined
  /** The data as it was enqueued, before the schema. Undefined if it cannot be decoded. */
  readonly data: unknown
  /** Name of the queue. */
  readonly queue: string
}

/** A task that failed for good. */
export interface FailedTask extends Omit<FailedMessage, 'message'>, OfTask {}

/** A task as the storage has it. */
export interface StoredTask extends Omit<StoredMessage, 'message'>, OfTask {}

type Operable = Required<Pick<MessageQueue, 'counts' | 'failed' | 'revive' | 'get' | 'cancel'>>

/** @throws HoldfastError FEATURE_UNSUPPORTED */
function queuesFor({ queues, definitions }: Enqueuing, what: string): { queue: Operable; name: string }[] {
  const operable = [...queues.all(definitions)].filter(
    (queue) => queue.extended === true && typeof queue.counts === 'function',
  )
  if (operable.length > 0) return operable.map((queue) => ({ queue: queue as Operable, name: queues.nameOf(queue) }))
  const message = `tasks: ${what} needs a queue over a Holdfast storage, and these tasks have none. Nothing was done. Pass storage, or a StorageMessageQueue, to createTasks().`
  throw new HoldfastError('FEATURE_UNSUPPORTED', message, { what })
}

export async function depthOf(env: Enqueuing): Promise<StorageQueueDepth> {
  const { due, delayed } = await sumOf(queuesFor(env, 'getDepth()'))
  return { queued: due + delayed, ready: due, delayed }
}

export const countTasks = async (env: Enqueuing): Promise<MessageCounts> => sumOf(queuesFor(env, 'counts()'))

async function sumOf(queues: readonly { readonly queue: Operable }[]): Promise<MessageCounts> {
  const all = await Promise.all(queues.map(({ queue }) => queue.counts()))
  return all.reduce((sum, counts) => {
    const states = Object.fromEntries(
      Object.entries(sum.states).map(([state, count]) => [state, count + counts.states[state as JobState]]),
    ) as MessageCounts['states']
    const oldestDueAt = Math.min(sum.oldestDueAt ?? Infinity, counts.oldestDueAt ?? Infinity)
    return {
      states,
      due: sum.due + counts.due,
      delayed: sum.delayed + counts.delayed,
      ...(oldestDueAt !== Infinity && { oldestDueAt }),
    }
  })
}

export async function* failedTasks(env: Enqueuing): AsyncGenerator<FailedTask> {
  for (const { queue, name } of queuesFor(env, 'failed()')) {
    for await (const { message, ...failed } of queue.failed()) yield { ...failed, ...ofTask(message, name) }
  }
}

export async function reviveTasks(env: Enqueuing, given: readonly string[]): Promise<ReviveVerdict[]> {
  const ids = listOf('ids', given) as string[]
  const verdicts = new Map<string, ReviveVerdict>()
  for (const { queue } of queuesFor(env, 'revive()')) {
    const missing = ids.filter((id) => (verdicts.get(id)?.verdict ?? 'not_found') === 'not_found')
    const answers = await queue.revive(missing)
    missing.forEach((id, index) => verdicts.set(id, answers[index]!))
  }
  return ids.map((id) => verdicts.get(id)!)
}

export async function getTask(env: Enqueuing, id: string): Promise<StoredTask | null> {
  for (const { queue, name } of queuesFor(env, 'get()')) {
    const stored = await queue.get(id)
    if (!stored) continue
    const { message, ...rest } = stored
    return { ...rest, ...ofTask(message, name) }
  }
  return null
}

export async function cancelTask(
  env: Enqueuing,
  id: string,
  options: CancelOptions | undefined,
): Promise<CancelResult> {
  for (const { queue } of queuesFor(env, 'cancel()')) {
    const result = await queue.cancel(id, options)
    if (result.status !== 'not_found') return result
  }
  return { status: 'not_found' }
}

function ofTask(message: unknown, queue: string): OfTask {
  const parsed = taskMessageOf(message, Infinity)
  return { task: parsed?.task, data: parsed && dataOf(parsed.data), queue }
}

function dataOf(text: string): unknown {
  try {
    return decodeData(text)
  } catch {
    // Such a task failed for that reason, and its error says so.
    return undefined
  }
}
