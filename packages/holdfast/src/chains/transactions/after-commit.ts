// What may be told only after a commit: hints to a notifier, and events.

import { AsyncLocalStorage } from 'node:async_hooks'

/** `unknown`: the transaction is the user's, and its end is not seen here. */
type Committed = true | 'unknown'
type Callback = (committed: Committed) => void

/** Transactions that Holdfast itself commits, in any client or worker of the process, with what waits for their commit. */
const own = new WeakMap<object, Callback[]>()
/** What withNotify keeps. */
const kept = new AsyncLocalStorage<Callback[]>()

/** Calls back once what `tx` wrote is committed: at once without a transaction, or if its commit cannot be seen. */
export function afterCommit(tx: unknown, callback: Callback): void {
  if (tx === undefined) return callback(true)
  const waiting = own.get(tx as object) ?? kept.getStore()
  if (waiting) waiting.push(callback)
  else callback('unknown')
}

/** withNotify: keeps the callbacks of the user's transactions until `run` has resolved. A nested call joins the outer one. */
export async function keepUntilResolved<R>(run: () => Promise<R>): Promise<R> {
  if (kept.getStore()) return run()
  const waiting: Callback[] = []
  const answer = await kept.run(waiting, run)
  for (const callback of waiting) callback(true)
  return answer
}

/** Registers a transaction that Holdfast has begun. @returns to be called after its commit */
export function registerOwn(tx: unknown): () => void {
  const waiting: Callback[] = []
  own.set(tx as object, waiting)
  return () => {
    own.delete(tx as object)
    for (const callback of waiting) callback(true)
  }
}

/** Drops what waits for the commit of a transaction that was rolled back. */
export function dropOwn(tx: unknown): void {
  own.delete(tx as object)
}
