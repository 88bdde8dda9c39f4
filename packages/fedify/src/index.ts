// @holdfast/fedify: a message queue and a key-value store for a Fedify federation, on any Holdfast storage.

export { fedifyKv, fedifyQueue, type FedifyDurations } from './foreign.ts'
export { HoldfastKvStore, type HoldfastKvStoreOptions } from './kv-store.ts'
export {
  HoldfastMessageQueue,
  type HoldfastMessageQueueEnqueueOptions,
  type HoldfastMessageQueueOptions,
} from './message-queue.ts'
export type { TemporalNamespace } from './temporal.ts'
