// A log that kill -9 cannot truncate: each line is one synchronous write to a file opened for appending.

import { openSync, readdirSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { entriesOf, type Entry, type Note } from './entries.ts'

export interface Log {
  write(note: Note): void
}

/** @param by the name of this process */
export function openLog(file: string, by: string): Log {
  const descriptor = openSync(file, 'a')
  return {
    write: (note) => void writeSync(descriptor, `${JSON.stringify({ at: machineMs(), by, ...note })}\n`),
  }
}

/** The entries of every log, by time. */
export function readLogs(directory: string): Entry[] {
  return readdirSync(directory)
    .filter((name) => name.endsWith('.log'))
    .flatMap((name) => entriesOf(readFileSync(join(directory, name), 'utf8')))
    .toSorted((one, other) => one.at - other.at)
}

/** A monotonic clock that all processes of the machine share. */
export const machineMs = (): number => Number(process.hrtime.bigint() / 1_000n) / 1_000
