// The follower: keeps the replica at the log's position. It starts from the latest snapshot and applies the commits after it.
// Invariant: between two groups of calls the replica is exactly what the commits before the log's position say.

import type { Clock } from '../../../clock.ts'
import type { ListenerRegistry } from '../../listener-registry.ts'
import { readLines } from '../log/lines.ts'
import type { Log } from '../log/log.ts'
import { latestSnapshot } from '../log/snapshot.ts'
import { applyChanges } from './apply.ts'
import type { Changes } from './changes.ts'
import type { Recording } from './recording.ts'
import { Replica } from './replica.ts'

/** Looks for a missing folder of the log before the directory counts as damaged. */
const mostLoads = 10

export interface FollowerOptions {
  readonly log: Log
  readonly clock: Clock
  readonly listeners: Pick<ListenerRegistry<never>, 'listenersOf' | 'notify'>
  /** A commit of another process was applied. */
  followed(changes: Changes): void
}

export class Follower {
  replica: Replica
  /** Bytes on disk of the commits since the snapshot from which a start would read. */
  logBytes = 0
  snapshotBytes = 0
  readonly log: Log
  readonly #options: FollowerOptions
  /** The replica no longer matches the log, and is loaded before its next use. */
  #isStale = true

  constructor(options: FollowerOptions) {
    this.#options = options
    this.log = options.log
    this.replica = this.#emptyReplica()
  }

  /** Applies every commit that other processes have added to the log. */
  async catchUp(): Promise<void> {
    for (let loads = 0; ; loads++) {
      if (this.#isStale) this.#load()
      if (this.#follow()) return
      if (loads === mostLoads) {
        const { paths, position } = this.log
        throw new Error(
          `the folder ${position.folder} is missing in '${paths.log}'. Restore the directory from a backup`,
        )
      }
      this.#isStale = true
      await new Promise<void>((resolve) => void this.#options.clock.after(1, resolve))
    }
  }

  /** Steps over a commit of this process, whose changes the replica has already. */
  passOwn(bytes: number): void {
    const { folder, next } = this.log.position
    this.logBytes += sizeOnDisk(bytes)
    this.log.goTo({ folder, next: next + 1 })
  }

  /** Reverts calls that did not get into the log. */
  undo(recording: Recording): void {
    try {
      applyChanges(this.replica, recording.undo(), this.#options.clock.now())
    } catch {
      this.invalidate()
    }
  }

  /** Has the replica loaded again before its next use. */
  invalidate(): void {
    this.#isStale = true
  }

  #emptyReplica(): Replica {
    return new Replica(this.#options.listeners.listenersOf)
  }

  /** Starts again from the latest snapshot. */
  #load(): void {
    this.replica = this.#emptyReplica()
    const { log } = this
    const snapshot = latestSnapshot(log.disk, log.paths)
    this.snapshotBytes = snapshot?.size ?? 0
    this.logBytes = 0
    if (snapshot) {
      const { changes } = readLines(snapshot, this.replica)
      applyChanges(this.replica, changes, this.#options.clock.now())
      log.goTo({ folder: snapshot.head.log!, next: snapshot.head.number + 1 })
    } else {
      const format = log.disk.read(log.paths.format)
      if (!format) {
        throw new Error(
          `'${log.paths.format}' is missing: the directory was deleted or moved while in use. Put it back, or restore it from a backup`,
        )
      }
      log.goTo({ folder: (JSON.parse(format.toString()) as { log: string }).log, next: 1 })
    }
    this.#isStale = false
  }

  /** False if the next commit was deleted: then a snapshot has it. */
  #follow(): boolean {
    const { log } = this
    const { clock, listeners, followed } = this.#options
    for (;;) {
      const frame = log.next()
      if (frame === undefined) return true
      if (frame === 'gone') return false
      try {
        const read = readLines(frame, this.replica)
        applyChanges(this.replica, read.changes, clock.now())
        const { folder, next } = log.position
        log.goTo({ folder: read.continue ?? folder, next: next + 1 })
        log.unsynced = true
        this.logBytes += sizeOnDisk(frame.size)
        followed(read.changes)
        for (const hint of read.hints) listeners.notify(hint)
      } catch (error) {
        this.invalidate()
        throw error
      }
    }
  }
}

/** A small file takes a whole block. */
const sizeOnDisk = (bytes: number): number => Math.ceil(bytes / 4_096) * 4_096
