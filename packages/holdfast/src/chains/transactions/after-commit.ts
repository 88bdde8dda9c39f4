// What may be told only after a commit: hints to a notifier, and events.

import { AsyncLocalStorage } from 'node:async_hooks'

/** `unknown`: somebody else's transaction, whose end we do not see. */
type Committed = true | 'unknown'
type Telling = (committed: Committed) => void

/** Transactions that Holdfast itself commits, here or in another client or worker of the process. */
const ours = new WeakMap<object, Telling[]>()
const keeping = new AsyncLocalStorage<Telling[]>()

/** Tells once what `tx` wrote is committed: at once if there is none, or nobody knows. */
export function afterCommit(tx: unknown, tell: Telling): void {
  if (tx === undefined) return tell(true)
  const later = ours.get(tx as object) ?? keeping.getStore()
  if (later) later.push(tell)
  else tell('unknown')
}

/** withNotify: keeps what others' transactions have to tell until `run` has resolved. Inside another, it is that one's. */
export async function keepUntilResolved<R>(run: () => Promise<R>): Promise<R> {
  if (keeping.getStore()) return run()
  const kept: Telling[] = []
  const answer = await keeping.run(kept, run)
  for (const tell of kept) tell(true)
  return answer
}

/** To be called when one of ours has begun. The answer is to be called after its commit. */
export function beginOurs(tx: unknown): () => void {
  const later: Telling[] = []
  ours.set(tx as object, later)
  return () => {
    ours.delete(tx as object)
    for (const tell of later) tell(true)
  }
}

export function dropOurs(tx: unknown): void {
  ours.delete(tx as object)
}
