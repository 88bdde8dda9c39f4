// The message that a handler has in hand, known to whatever it calls. A queue replaces it, in place of adding another, when
// the handler enqueues what has its identity: so it keeps its place among the messages of its ordering key.

import { AsyncLocalStorage } from 'node:async_hooks'
import type { Bytes, Storage } from '../../storage/storage.ts'

interface Replacement {
  readonly payload: Bytes
  readonly delayMs: number | undefined
}

export interface InHand {
  readonly storage: Storage
  /** Of the queue. */
  readonly name: string
  readonly id: string
  readonly identity: string | undefined
  readonly orderingKey: string | undefined
  /** Its handler has ended. */
  over: boolean
  replacement: Replacement | undefined
}

const inHand = new AsyncLocalStorage<InHand>()

export const runWith = <T>(message: InHand, run: () => T): T => inHand.run(message, run)

/** The message in hand, if it is the one that is replaced: of this queue, identity and ordering key, and only once. */
export function replaceable(
  storage: Storage,
  name: string,
  identity: string | undefined,
  orderingKey: string | undefined,
): InHand | undefined {
  const message = inHand.getStore()
  if (!message || message.over || message.replacement || identity === undefined) return undefined
  const isSame =
    message.storage === storage &&
    message.name === name &&
    message.identity === identity &&
    message.orderingKey === orderingKey
  return isSame ? message : undefined
}
