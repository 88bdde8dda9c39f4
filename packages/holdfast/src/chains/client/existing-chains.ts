// Which starts are duplicates already, among those that would call `startBlockers`: for these it is looked up before.

import type { GuardedStorage } from '../../engine/guard.ts'
import { chainOf, chainParts, type PlainChain } from '../job/records.ts'
import type { StartRequest } from '../job/start-request.ts'
import { typeOf } from '../job/stored-type.ts'
import type { ChainDeduplication } from '../types/start-options.ts'

/** The chains that hold the id or key of a start. */
export async function existingChains(
  storage: Pick<GuardedStorage, 'get'>,
  requests: readonly StartRequest[],
  tx: unknown,
): Promise<Map<StartRequest, PlainChain>> {
  const existing = new Map<StartRequest, PlainChain>()
  const asked = requests.filter(
    ({ startBlockers, deduplication, id }) => startBlockers && (deduplication ? isOnce(deduplication) : id),
  )
  if (asked.length === 0) return existing
  const refs = asked.map(({ typeName, deduplication, id }) => {
    const type = typeOf(typeName)
    return deduplication ? { type, key: deduplication.key } : { type, id: id! }
  })
  const records = await storage.get(refs, { parts: chainParts, tx })
  asked.forEach((request, index) => {
    const record = records[index]
    // An id is free again once its chain failed or was cancelled.
    const state = record?.tail?.state
    if (record?.chainIndex !== 0 || state === 'failed' || state === 'cancelled') return
    existing.set(request, chainOf(record))
  })
  return existing
}

/** True if a chain that holds the key refuses the start. In the other modes the storage decides. */
const isOnce = ({ mode }: ChainDeduplication): boolean => mode === undefined || mode === 'simple' || mode === 'throttle'
