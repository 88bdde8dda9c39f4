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

/** By place: a list by creation is bounded on Redis, and the records that it leaves out would count as lost. */
async function* recordsOf(storage: Storage): AsyncGenerator<VolumeRecord> {
  let cursor: string | undefined
  do {
    const types = [typeOf(volumeQueue)]
    const page = await storage.list({ of: 'jobs', types, by: 'place', limit: 1_000, cursor, parts: ['result'] })
    if (page.truncated) throw new Error('The list of records is truncated: this run shows nothing.')
    for (const { id, state, attempt, result } of page.items) {
      const value = result && (JSON.parse(Buffer.from(result).toString()) as number)
      yield { id, job: jobOf(id), state, attempt, result: value }
    }
    cursor = page.nextCursor
  } while (cursor !== undefined)
}
