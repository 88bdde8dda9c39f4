// The schedules of one owner in the key-value store. Each change is a compare-and-set, so that concurrent ones do not undo each other,
// and is followed by a hint for the processes that fire them.

import type { KeyValue, KvEntry, KvKey } from '../../storage/kv.ts'
import { storedType } from '../../storage/stored-type.ts'
import type { GuardedStorage } from '../guard.ts'
import type { StorageTime } from './storage-time.ts'
import {
  decodeMark,
  decodeSchedule,
  encodeMark,
  encodeSchedule,
  entryKey,
  isSameSchedule,
  type Mark,
  markKey,
  ownerKey,
  releaseKey,
  schedulesKey,
  type StoredSchedule,
} from './stored-schedule.ts'

/** A schedule to store: without what the store itself decides. */
export type NewSchedule = Omit<StoredSchedule, 'since' | 'paused' | 'release'>

const pageSize = 100

export class ScheduleStore {
  readonly #storage: Pick<GuardedStorage, 'kv' | 'pause'>
  readonly #owner: string
  readonly #time: StorageTime

  constructor(storage: Pick<GuardedStorage, 'kv' | 'pause'>, owner: string, time: StorageTime) {
    this.#storage = storage
    this.#owner = owner
    this.#time = time
  }

  async get(name: string): Promise<StoredSchedule | undefined> {
    const bytes = await this.#kv.get(entryKey(this.#owner, name))
    return bytes && decodeSchedule(bytes)
  }

  async list(): Promise<StoredSchedule[]> {
    return (await this.#entries(ownerKey(this.#owner))).flatMap(({ value }) => decodeSchedule(value) ?? [])
  }

  /** How far each schedule is, by name. */
  async marks(): Promise<ReadonlyMap<string, Mark>> {
    const entries = await this.#entries(markKey(this.#owner, '').slice(0, -1))
    return new Map(entries.map(({ key, value }) => [key.at(-1)!, decodeMark(value)]))
  }

  async mark(name: string): Promise<Mark | undefined> {
    const bytes = await this.#kv.get(markKey(this.#owner, name))
    return bytes && decodeMark(bytes)
  }

  /** Moves a mark on, never back. @returns whether this call did: no other process had passed `passedTo` */
  async raiseMark(name: string, { passedTo, firedAt }: Mark): Promise<boolean> {
    const key = markKey(this.#owner, name)
    for (;;) {
      const bytes = await this.#kv.get(key)
      const before: Mark = bytes ? decodeMark(bytes) : { passedTo: -1 }
      const raised = {
        passedTo: Math.max(before.passedTo, passedTo),
        firedAt: firedAt === undefined ? before.firedAt : Math.max(before.firedAt ?? 0, firedAt),
      }
      if (raised.passedTo === before.passedTo && raised.firedAt === before.firedAt) return false
      if (await this.#kv.cas(key, bytes, encodeMark(raised))) return raised.passedTo > before.passedTo
    }
  }

  /** Stores a schedule. One of the same content is left as it is; of a changed one, only slots after this call are fired. @returns the one before */
  async put(schedule: NewSchedule, release?: number): Promise<StoredSchedule | undefined> {
    const since = await this.#time.now()
    return this.#change(schedule.name, (stored) => {
      // Code of an earlier release does not undo what a later one declared.
      if (stored?.release !== undefined && release !== undefined && release < stored.release) return stored
      const changed = { ...schedule, since, paused: stored?.paused, release }
      if (!stored || !isSameSchedule(stored, changed)) return changed
      // An operator who stores what code declared does not take it from the code.
      return release === undefined || stored.release === release ? stored : { ...stored, release }
    })
  }

  /** True if there was one. */
  async remove(name: string): Promise<boolean> {
    const before = await this.#change(name, () => undefined)
    await this.#kv.delete(markKey(this.#owner, name))
    // One that cannot be read is there, too.
    return (await this.#kv.delete(entryKey(this.#owner, name))) || before !== undefined
  }

  /** Slots while it is paused are not fired, then or later. False if there is none. */
  async pause(name: string, by: string | undefined): Promise<boolean> {
    const since = await this.#time.now()
    const before = await this.#change(name, (stored) =>
      stored && !stored.paused ? { ...stored, paused: { since, by } } : stored,
    )
    return before !== undefined
  }

  async resume(name: string): Promise<boolean> {
    const since = await this.#time.now()
    const before = await this.#change(name, (stored) => {
      if (!stored?.paused) return stored
      const { paused: _, ...rest } = stored
      return { ...rest, since }
    })
    return before !== undefined
  }

  /**
   * Stores the schedules that code declares, and removes those that a lower release declared and this one does not. A release below
   * the greatest one changes nothing. So old and new processes side by side neither duplicate nor delete.
   */
  async reconcile(
    declared: readonly NewSchedule[],
    release: number,
    isServed: (type: string) => boolean,
  ): Promise<void> {
    // First of all: from here on, no lower release begins.
    if (!(await this.#raiseRelease(release))) return
    const created: string[] = []
    for (const schedule of declared) {
      if ((await this.put(schedule, release)) === undefined) created.push(schedule.name)
    }
    const names = new Set(declared.map(({ name }) => name))
    for (const { name, job, release: of } of await this.list()) {
      // Code that does not run a type declares no schedule of it, and may not miss one.
      if (of === undefined || of >= release || names.has(name) || !isServed(job.type)) continue
      await this.#removeDeclared(name, of)
    }
    // A greater release that began meanwhile may have removed them before they were stored.
    if (await this.#raiseRelease(release)) return
    for (const name of created) await this.#removeDeclared(name, release)
  }

  async #removeDeclared(name: string, release: number): Promise<void> {
    await this.#change(name, (stored) => (stored?.release === release ? undefined : stored))
  }

  /** False if a greater one is stored. */
  async #raiseRelease(release: number): Promise<boolean> {
    const key = releaseKey(this.#owner)
    for (;;) {
      const bytes = await this.#kv.get(key)
      const stored = bytes === undefined ? -1 : Number(Buffer.from(bytes))
      const last = Number.isSafeInteger(stored) ? stored : -1
      if (last >= release) return last === release
      if (await this.#kv.cas(key, bytes, Buffer.from(String(release)))) return true
    }
  }

  get #kv(): KeyValue {
    return this.#storage.kv
  }

  /** @param change returns the same object: nothing is written @returns what was stored before */
  async #change(
    name: string,
    change: (stored: StoredSchedule | undefined) => StoredSchedule | undefined,
  ): Promise<StoredSchedule | undefined> {
    const key = entryKey(this.#owner, name)
    for (;;) {
      const bytes = await this.#kv.get(key)
      const stored = bytes && decodeSchedule(bytes)
      const changed = change(stored)
      if (changed === stored) return stored
      if (!(await this.#kv.cas(key, bytes, changed && encodeSchedule(changed)))) continue
      await this.#storage.pause({ type: scheduleTopic(this.#owner), paused: false })
      return stored
    }
  }

  #entries(prefix: KvKey): Promise<KvEntry[]> {
    return entriesOf(this.#kv, prefix)
  }
}

async function entriesOf(kv: KeyValue, prefix: KvKey): Promise<KvEntry[]> {
  const found: KvEntry[] = []
  for (let cursor: string | undefined; ;) {
    const { items, nextCursor } = await kv.list(prefix, { limit: pageSize, ...(cursor !== undefined && { cursor }) })
    found.push(...items)
    if (nextCursor === undefined) return found
    cursor = nextCursor
  }
}

/** Every owner that has a schedule. */
export async function scheduleOwners({ kv }: Pick<GuardedStorage, 'kv'>): Promise<string[]> {
  const entries = await entriesOf(kv, schedulesKey)
  return [...new Set(entries.map(({ key }) => key[schedulesKey.length]!))]
}

/** A type without jobs: a resume of it wakes those that listen for changes of the schedules. */
export const scheduleTopic = (owner: string): string => storedType('schedules', owner)
