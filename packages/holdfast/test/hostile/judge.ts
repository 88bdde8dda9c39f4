// Judges one call with one hostile value. Accepted: what was written reads back equal. Refused: with a documented code, a message
// that names what was wrong, and nothing written. Never: a hang, another error, or an error of the database.

import { inspect } from 'node:util'
import { errorCodes, isHoldfastError, type Storage } from 'holdfast'
import type { HostileCall } from './call.ts'
import type { Rig } from './rig.ts'
import type { HostileValue } from './values.ts'

/** `accepted`, or the code of the refusal. */
export type Answer = string

class Complaint extends Error {}

/** Long enough for a loaded machine; no call of the suite waits for anything. */
const hangMs = 30_000

async function bounded(run: () => unknown): Promise<unknown> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Complaint(`no answer within ${hangMs} ms`)), hangMs)
  })
  try {
    return await Promise.race([(async () => run())(), late])
  } finally {
    clearTimeout(timer)
  }
}

/** @throws Complaint */
export async function judge(rig: Rig, call: HostileCall, value: HostileValue): Promise<Answer> {
  const given = value.make()
  const writes = rig.writes.length
  let answer: unknown
  try {
    answer = await bounded(() => call.run(rig, given))
  } catch (error) {
    const code = refusalOf(call, error)
    if (call.absent?.includes(code)) return 'accepted'
    // A driver refuses a transaction itself: that it wrote nothing shows in the storage.
    const written = call.name.endsWith(': tx') ? [] : rig.writes.slice(writes)
    if (written.length > 0) throw new Complaint(`refused with ${code} after it wrote: ${written.join(', ')}`)
    return code
  }
  try {
    await bounded(() => call.readBack?.(rig, given, answer))
  } catch (error) {
    throw new Complaint(`accepted, and does not read back: ${shown(error)}`, { cause: error })
  }
  return 'accepted'
}

function refusalOf({ names, absent }: HostileCall, error: unknown): string {
  if (error instanceof Complaint) throw error
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown }
  const isTyped = isHoldfastError(error) || (error instanceof TypeError && typeof code === 'string')
  if (!isTyped || !Object.hasOwn(errorCodes, code as string)) throw new Complaint(`an untyped error: ${shown(error)}`)
  if (code === 'STORAGE_ERROR' || code === 'STORAGE_CLOSED')
    throw new Complaint(`an error of the storage: ${shown(error)}`)
  if (!absent?.includes(code as string) && !names.test(message as string))
    throw new Complaint(`the message does not name ${String(names)}: ${String(message)}`)
  if ((message as string).length > 2_000) throw new Complaint(`a message of ${(message as string).length} characters`)
  return code as string
}

function shown(error: unknown): string {
  try {
    return inspect(error, { depth: 2 }).slice(0, 1_500)
  } catch {
    return 'an error that cannot be shown'
  }
}

/** Everything that the storage has: jobs with all their parts, counts, and entries of the key-value store. */
export async function dumpOf(storage: Storage): Promise<string> {
  const parts = ['payload', 'result', 'error', 'attempts', 'progress', 'log', 'blockers', 'tail'] as const
  const pages: unknown[] = []
  for (let cursor: string | undefined; ;) {
    const page = await storage.list({
      of: 'jobs',
      limit: 1_000,
      order: 'asc',
      parts,
      ...(cursor !== undefined && { cursor }),
    })
    pages.push(page.items)
    if (page.nextCursor === undefined) break
    cursor = page.nextCursor
  }
  const { types } = await storage.count({})
  const entries = await storage.kv.list([], { limit: 1_000 })
  return inspect({ pages, types, entries }, { depth: null, maxArrayLength: null, maxStringLength: null, sorted: true })
}
