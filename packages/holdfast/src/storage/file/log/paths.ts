// Where things are in the directory.

import { join } from 'node:path'

export interface Paths {
  readonly root: string
  /** Says where the log began. */
  readonly format: string
  readonly log: string
  readonly snapshot: string
  readonly tmp: string
}

export function pathsOf(directory: string): Paths {
  return {
    root: directory,
    format: join(directory, 'holdfast.json'),
    log: join(directory, 'log'),
    snapshot: join(directory, 'snapshot'),
    tmp: join(directory, 'tmp'),
  }
}

/** Ten digits sort as text; longer ones are compared as numbers. */
export const padded = (number: number): string => String(number).padStart(10, '0')

/** The number that a name begins with. */
export const numberOf = (name: string): number => parseInt(name, 10)
