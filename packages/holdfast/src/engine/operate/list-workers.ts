// The workers that are alive, from the entries that they write (engine/work/presence.ts).

import type { GuardedStorage } from '../guard.ts'
import { type WorkerInfo, workersKey } from '../work/presence.ts'

const pageSize = 500

/** Longest running first. */
export async function listWorkers({ kv }: Pick<GuardedStorage, 'kv'>): Promise<WorkerInfo[]> {
  const workers: WorkerInfo[] = []
  for (let cursor: string | undefined; ;) {
    const { items, nextCursor } = await kv.list(
      workersKey,
      cursor === undefined ? { limit: pageSize } : { limit: pageSize, cursor },
    )
    for (const { value } of items) {
      const info = parse(value)
      if (info) workers.push(info)
    }
    if (nextCursor === undefined) break
    cursor = nextCursor
  }
  return workers.toSorted((a, b) => a.startedAt - b.startedAt)
}

/** Undefined for an entry that another version wrote in another form. */
function parse(bytes: Uint8Array): WorkerInfo | undefined {
  try {
    const info = JSON.parse(Buffer.from(bytes).toString()) as WorkerInfo
    return typeof info.id === 'string' && Array.isArray(info.types) ? info : undefined
  } catch {
    return undefined
  }
}
