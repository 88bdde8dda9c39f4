// The drivers that the conformance suite is run on. A new one is a line in the table.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Clock, systemClock } from '../src/clock.ts'
import type { Subject } from '../src/conformance/index.ts'
import { MemoryStorage } from '../src/storage/memory/memory-storage.ts'
import { SqliteStorage } from '../src/storage/sqlite/index.ts'

export const drivers: Readonly<Record<string, () => Subject | Promise<Subject>>> = {
  memory: () => withManualClock((clock) => new MemoryStorage({ clock })),
  sqlite: () => onSqlite(),
}

/** A file of its own, and a second handle on it as another process has it. */
async function onSqlite(): Promise<Subject> {
  const directory = await mkdtemp(join(tmpdir(), 'holdfast-sqlite-'))
  const path = join(directory, 'jobs.db')
  const others: SqliteStorage[] = []
  let time: Clock | undefined
  const subject = withManualClock((clock) => {
    time = clock
    return new SqliteStorage({ path, clock })
  })
  return {
    ...subject,
    another: async () => {
      const other = new SqliteStorage({ path, clock: time })
      others.push(other)
      await other.connect()
      return other
    },
    close: async () => {
      for (const other of others) await other.disconnect()
      await rm(directory, { recursive: true, force: true })
    },
  }
}

/** A storage whose time stands until it is told to go on. It sets no timers, so the clock needs none. */
export function withManualClock(
  open: (clock: Clock) => Subject['storage'],
): Subject & Required<Pick<Subject, 'advance'>> {
  let now = 1_767_225_600_000
  return {
    storage: open({ ...systemClock, now: () => now }),
    advance: async (ms) => {
      now += ms
    },
  }
}
