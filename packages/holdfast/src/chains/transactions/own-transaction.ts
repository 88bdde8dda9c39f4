// A transaction that Holdfast opens around a function. Its hints and events are told after its commit.

import type { GuardedStorage } from '../../engine/guard.ts'
import { dropOwn, registerOwn } from './after-commit.ts'

export async function ownTransaction<T>(
  storage: Pick<GuardedStorage, 'transaction'>,
  run: (tx: unknown) => Promise<T>,
): Promise<T> {
  let opened: unknown
  let onCommit: (() => void) | undefined
  try {
    const answer = await storage.transaction!((tx) => {
      opened = tx
      onCommit = registerOwn(tx)
      return run(tx)
    })
    onCommit!()
    return answer
  } catch (error) {
    if (onCommit) dropOwn(opened)
    throw error
  }
}
