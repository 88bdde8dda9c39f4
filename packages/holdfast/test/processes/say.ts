// How a process of the tests speaks to the one that started it: in lines of JSON.

import { writeSync } from 'node:fs'

/**
 * It is out when this returns. What process.stdout.write() is given waits in the process while the other side is slow to read,
 * and is lost with it: whoever says something may be killed next.
 */
export function say(value: unknown): void {
  const line = Buffer.from(`${JSON.stringify(value)}\n`)
  for (let written = 0; written < line.length;) {
    try {
      written += writeSync(1, line, written)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error
    }
  }
}
