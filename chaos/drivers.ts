// The storages that a run can be made on, each in a directory of its own.

import { join } from 'node:path'
import type { Storage } from 'holdfast'

interface Driver {
  open(directory: string): Promise<Storage>
  /** What is wrong with what lies on the disk, once nobody uses it. */
  inspect?(directory: string): Promise<readonly string[]>
}

export const drivers: Readonly<Record<string, Driver>> = {
  sqlite: {
    open: (directory) => make('holdfast/sqlite', 'SqliteStorage', { path: join(directory, 'jobs.db') }),
    async inspect(directory) {
      const { DatabaseSync } = await import('node:sqlite')
      const database = new DatabaseSync(join(directory, 'jobs.db'))
      try {
        const rows = database.prepare('PRAGMA integrity_check').all() as { integrity_check: string }[]
        return rows.map((row) => row.integrity_check).filter((line) => line !== 'ok')
      } finally {
        database.close()
      }
    },
  },
  file: {
    open: (directory) => make('holdfast/file', 'FileStorage', { directory: join(directory, 'jobs') }),
  },
}

export function driverNamed(name: string): Driver {
  const driver = drivers[name]
  if (!driver) throw new Error(`no such driver: ${name}`)
  return driver
}

/** By name: only the driver that is asked for is loaded. */
async function make(path: string, name: string, options: object): Promise<Storage> {
  const loaded = (await import(path)) as Record<string, new (given: object) => Storage>
  return new loaded[name]!(options)
}
