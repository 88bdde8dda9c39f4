// What a run for volume looks at from outside: a storage of ours, or a peer (peers/).

import type { Storage } from 'holdfast'
import { drained } from '../drain.ts'
import { typeOf } from '../jobs.ts'
import type { VolumeRecord } from './volume-history.ts'
import { jobOf, volumeQueue } from './volume-jobs.ts'

export interface Subject {
  connect(): Promise<void>
  /** Resolves with false if a job is still live after the time limit. */
  drained(withinMs: number): Promise<boolean>
  /** Of all jobs, in any order. */
  records(): AsyncIterable<VolumeRecord>
  disconnect(): Promise<void>
}

export function storageSubject(storage: Storage): Subject {
  return {
    connect: () => storage.connect(),
    drained: (withinMs) => drained(storage, withinMs),
    records: () => recordsOf(storage),
    disconnect: () => storage.disconnect(),
  }
}

async function* recordsOf(storage: Storage): AsyncGenerator<VolumeRecord> {
  let cursor: string | undefined
  do {
    const types = [typeOf(volumeQueue)]
    const page = await storage.list({ of: 'jobs', types, limit: 1_000, order: 'asc', cursor, parts: ['result'] })
    for (const { id, state, attempt, result } of page.items) {
      const value = result && (JSON.parse(Buffer.from(result).toString()) as number)
      yield { id, job: jobOf(id), state, attempt, result: value }
    }
    cursor = page.nextCursor
  } while (cursor !== undefined)
}
