import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'

/** In memory, where there is such a file system: many thousand files, or commits that wait for the disk, are slow on a disk. */
export const quickFolder = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()
