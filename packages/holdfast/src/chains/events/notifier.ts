// Carries hints in the place of the storage's own.

import type { Signal, Topic, Unlisten } from '../../storage/storage.ts'

export interface Notifier {
  notify(signals: readonly Signal[]): Promise<void>
  /** Resolves once every later signal will come. */
  listen(topics: readonly Topic[], onSignal: (signal: Signal) => void): Promise<Unlisten>
  close(): Promise<void>
}
