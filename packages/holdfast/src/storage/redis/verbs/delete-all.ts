// Deletes every key that begins so. By SCAN, which holds up nobody, and UNLINK, which frees memory aside.

import type { Argument } from '../connection/client.ts'
import { hashTag } from '../connection/durable-calls.ts'
import type { Call } from '../connection/server.ts'

const keysAtOnce = 500

/** @param scan on one server @param unlink wherever the keys are */
export async function deleteAll(start: string, scan: Call, unlink: Call): Promise<void> {
  const pattern = `${start.replace(/[\\*?[\]]/g, '\\$&')}*`
  let cursor: Argument = '0'
  do {
    const answer = await scan('scan', [cursor, 'MATCH', pattern, 'COUNT', String(keysAtOnce)])
    const [next, keys] = answer as [Buffer, Buffer[]]
    // Keys of different slots cannot go in one command.
    const bySlot = Map.groupBy(keys, (key) => hashTag(key.toString('latin1')))
    for (const some of bySlot.values()) {
      for (let from = 0; from < some.length; from += keysAtOnce) {
        await unlink('unlink', some.slice(from, from + keysAtOnce))
      }
    }
    cursor = next.toString()
  } while (cursor !== '0')
}
