// Replicas of one directory on a disk in memory, and the checks that they are equal.

import assert from 'node:assert/strict'
import { type Clock, systemClock } from '../../../src/clock.ts'
import { FileStorage } from '../../../src/storage/file/file-storage.ts'
import type { Disk } from '../../../src/storage/file/log/disk.ts'
import { decodeFrame, encodeFrame, format } from '../../../src/storage/file/log/frame.ts'
import { linesOfAll, readLines } from '../../../src/storage/file/log/lines.ts'
import { applyChanges } from '../../../src/storage/file/replica/apply.ts'
import { Replica } from '../../../src/storage/file/replica/replica.ts'
import type { Session } from '../../../src/storage/file/session.ts'
import { MemoryMove } from '../../../src/storage/memory/move.ts'
import { startsAt } from '../../../src/storage/rules/job/wait.ts'
import { newListeners } from '../../../src/storage/rules/signals.ts'
import { dump } from './dump.ts'
import { failure, MemoryDisk } from './memory-disk.ts'

/** Replicas of one directory, in which time stands until it is told to go on. */
export class Bench {
  now = 1_767_225_600_000
  readonly clock: Clock = { ...systemClock, now: () => this.now }
  readonly disk = new MemoryDisk()
  readonly storages: FileStorage[] = []
  readonly #sessions: Session[] = []
  #closed: Session | undefined

  async open(disk: Disk = this.disk): Promise<FileStorage> {
    const opened = (session: Session): void => void this.#sessions.push(session)
    const storage = new FileStorage({ directory: '/d', clock: this.clock, durability: 'relaxed' }, { disk, opened })
    await retried(() => storage.connect())
    this.storages.push(storage)
    return storage
  }

  /** A storage that is not among those that are compared. */
  async openApart(disk: Disk): Promise<FileStorage> {
    const storage = new FileStorage({ directory: '/d', clock: this.clock, durability: 'relaxed' }, { disk })
    await storage.connect()
    return storage
  }

  /** The lines of a snapshot of the last replica that was closed. */
  lines(): object[] {
    return [...linesOfAll(this.#closed!.journal.replica)]
  }

  /** All replicas are equal, and so are one that reads the log and one that reads a snapshot. */
  async check(): Promise<void> {
    await this.open()
    for (const storage of this.storages) await retried(() => storage.count({}))
    const dumps = this.#sessions.map(({ journal }) => dump(journal.replica, this.now))
    for (const found of dumps) assert.deepEqual(found, dumps.at(-1))
    for (const { journal } of this.#sessions) this.#checkRing(journal.replica)
    assert.deepEqual(dump(this.#fromSnapshot(), this.now), dumps.at(-1))
    await this.storages.pop()!.disconnect()
    this.#sessions.pop()
  }

  /** A group is in the ring exactly if it may start a job, from the instant at which it may. */
  #checkRing({ data }: Replica): void {
    const move = new MemoryMove(data, this.now)
    for (const { groups } of data.types.values()) {
      for (const group of groups.values()) {
        const { key, turnAt } = group
        assert.equal(turnAt && Math.max(turnAt, this.now), startsAt(move, group), `the turn of group ${key}`)
      }
    }
  }

  #fromSnapshot(): Replica {
    const { replica } = this.#sessions.at(-1)!.journal
    const lines = [...linesOfAll(replica)].map((line) => JSON.stringify(line))
    const head = { holdfast: 'snapshot', format, number: 1, last: replica.data.lastNumber, durability: 'full' } as const
    const copy = new Replica(newListeners)
    applyChanges(copy, readLines(decodeFrame(encodeFrame(head, lines))!, copy).changes, this.now)
    return copy
  }

  async close(): Promise<void> {
    for (const storage of this.storages.splice(0)) await storage.disconnect()
    this.#closed = this.#sessions.splice(0).at(-1)
  }
}

/** The disk, but every second commit fails at first. */
export function failing(disk: MemoryDisk): Disk {
  let times = 0
  return new Proxy<Disk>(disk, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name)
      if (typeof value !== 'function') return value
      return (...args: [string, Buffer]) => {
        if (name === 'create' && args[0].includes('/tmp/') && ++times % 2 === 1) throw failure('ENOSPC')
        return Reflect.apply(value, target, args) as unknown
      }
    },
  })
}

export async function retried(run: () => Promise<unknown>): Promise<unknown> {
  for (;;) {
    try {
      return await run()
    } catch (error) {
      if ((error as { code?: string }).code !== 'ENOSPC') throw error
    }
  }
}
