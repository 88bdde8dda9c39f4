// The message that a handler is handling, known to whatever it calls. When the handler enqueues a message with the same identity,
// the queue replaces the current one instead of adding another: so it keeps its place among the messages of its ordering key.

import { AsyncLocalStorage } from 'node:async_hooks'
import type { Bytes, Storage, When } from '../../storage/storage.ts'

interface Replacement extends When {
  readonly payload: Bytes
}

export interface CurrentMessage {
  readonly storage: Storage
  /** Stored type of the queue. */
  readonly type: string
  readonly id: string
  readonly identity: string | undefined
  readonly orderingKey: string | undefined
  /** Its handler has ended. */
  over: boolean
  replacement: Replacement | undefined
}

const current = new AsyncLocalStorage<CurrentMessage>()

export const runWith = <T>(message: CurrentMessage, run: () => T): T => current.run(message, run)

/** The current message, if an enqueue replaces it: it has the same queue, identity and ordering key, and was not replaced yet. */
export function replaceable(of: Pick<CurrentMessage, 'storage' | 'type' | 'identity' | 'orderingKey'>) {
  const message = current.getStore()
  if (!message || message.over || message.replacement || of.identity === undefined) return undefined
  const isSame =
    message.storage === of.storage &&
    message.type === of.type &&
    message.identity === of.identity &&
    message.orderingKey === of.orderingKey
  return isSame ? message : undefined
}
