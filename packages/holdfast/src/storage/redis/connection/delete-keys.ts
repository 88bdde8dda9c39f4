// Deletes every key with a prefix: by SCAN, which blocks no other call, and UNLINK, which frees memory in the background.

import type { Argument } from './client.ts'
import { hashTag } from './keys.ts'
import type { Call } from './server-facts.ts'

const keysAtOnce = 500

/**
 * @param scan a call to one server
 * @param unlink a call to the server that has the keys
 */
export async function deleteKeys(prefix: string, scan: Call, unlink: Call): Promise<void> {
  const pattern = `${prefix.replace(/[\\*?[\]]/g, '\\$&')}*`
  let cursor: Argument = '0'
  do {
    const answer = await scan('scan', [cursor, 'MATCH', pattern, 'COUNT', String(keysAtOnce)])
    const [next, keys] = answer as [Buffer, Buffer[]]
    // Keys of different slots cannot be deleted by one command.
    const bySlot = Map.groupBy(keys, (key) => hashTag(key.toString('latin1')))
    for (const some of bySlot.values()) {
      for (let from = 0; from < some.length; from += keysAtOnce) {
        await unlink('unlink', some.slice(from, from + keysAtOnce))
      }
    }
    cursor = next.toString()
  } while (cursor !== '0')
}
