// Carries hints in place of the storage's own.

import type { Signal, Topic, Unlisten } from '../../storage/storage.ts'

/** The `type` of its topics and signals is the name of a job type. */
export interface Notifier {
  notify(signals: readonly Signal[]): Promise<void>
  /** Resolves once every later signal will come. */
  listen(topics: readonly Topic[], onSignal: (signal: Signal) => void): Promise<Unlisten>
  close(): Promise<void>
}
