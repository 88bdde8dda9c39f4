// Reads what list needs, a page of ids at a time (lua/scan.ts), so that no call holds the server up.

import { stateCodes } from '../../rules/job/codes.ts'
import { text } from '../codec/fields.ts'
import { packed } from '../codec/requests.ts'
import type { ScriptRunner } from './script-runner.ts'

/** Every type that has, or had, a job. */
export async function typeNames(scripts: ScriptRunner): Promise<string[]> {
  const [, , names] = await scripts.ask('scan', [packed([false])])
  return (names as Buffer[]).map(text)
}

const endSets = [stateCodes.completed, stateCodes.failed, stateCodes.cancelled].map((code) => `done:${code}`)

/**
 * The ids in all sets of a type, each once. The leases are read twice: a job that leaves them while other sets are read
 * could be missed.
 */
export async function idsOf(scripts: ScriptRunner, type: string): Promise<Set<string>> {
  const [, , priorities] = await scripts.ask('scan', [packed([type, 'prios'])])
  const readySets = (priorities as number[]).map((priority) => `ready:${priority}`)
  const ids = new Set<string>()
  for (const set of ['leases', 'blocked', 'aside', ...readySets, 'leases', ...endSets]) {
    // A member of a ready set is the id after six bytes of its order.
    const idFrom = set.startsWith('ready:') ? 6 : 0
    let cursor = '0'
    do {
      const [, next, members] = await scripts.ask('scan', [packed([type, set, cursor])])
      for (const member of members as Buffer[]) ids.add(text(member.subarray(idFrom)))
      cursor = text(next)
    } while (cursor !== '0')
  }
  return ids
}
