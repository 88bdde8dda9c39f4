// The paths in the directory.

import { join } from 'node:path'

export interface Paths {
  readonly root: string
  /** The file with the format and the first folder of the log. */
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

/** Ten digits, which sort as text. The code compares numbers, so longer ones work too. */
export const padded = (number: number): string => String(number).padStart(10, '0')

/** The number that a name begins with. */
export const numberOf = (name: string): number => parseInt(name, 10)
