// listen: receives the hints of other processes and passes them to the listeners of this one.

import type { Signal } from '../../storage.ts'
import type { Database } from '../connection/database.ts'
import { decodeHints } from '../connection/hints.ts'
import type { StorageParts } from './open-storage.ts'

interface SignalSink {
  notify(signal: Signal): void
  /** Anything may have changed. */
  notifyAll(): void
}

/** Resolves once later hints will arrive, with a function that ends it. */
export function listenForHints(
  database: Database,
  { channel, instance, cursor }: Pick<StorageParts, 'channel' | 'instance' | 'cursor'>,
  sink: SignalSink,
): Promise<() => Promise<void>> {
  const onMessage = (payload: string): void => {
    const signals = decodeHints(payload, instance)
    if (signals) cursor.mayHaveMissed = true
    if (signals === 'all') sink.notifyAll()
    else for (const signal of signals ?? []) sink.notify(signal)
  }
  return database.listen(channel, onMessage, () => sink.notifyAll())
}
