// Judges a finished run: every committed activity has exactly one effect, and its sender knows of it.

import type { Received } from './received.ts'
import { activityOf, deliveryType, followed, nameOf, type Sender, type SenderConfig } from './sender.ts'

export interface Verdict {
  /** Committed activities without an effect. */
  readonly lost: readonly string[]
  /** Activities with more than one effect. */
  readonly repeated: readonly string[]
  /** Follows whose row was not acknowledged. */
  readonly unacknowledged: readonly string[]
  /** Rows of deliveries that did not end, and jobs that failed. */
  readonly left: readonly string[]
  /** Messages that were answered with different acknowledgements. */
  readonly unequal: readonly string[]
  /** Kill points that were reached less often than required. */
  readonly unreached: readonly string[]
  readonly isClean: boolean
}

export async function judge(
  { store, storage }: Pick<Sender, 'store' | 'storage'>,
  { activities, receiver }: Pick<SenderConfig, 'activities' | 'receiver'>,
  { effects, acks }: Pick<Received, 'effects' | 'acks'>,
  unreached: readonly string[],
): Promise<Verdict> {
  const times = new Map<string, number>()
  for (const effect of effects) times.set(effect, (times.get(effect) ?? 0) + 1)
  const all = Array.from({ length: activities }, (_, number) => activityOf(number))
  const names = all.map(nameOf)
  const lost = names.filter((name) => !times.has(name))
  const repeated = [...times].filter(([, count]) => count > 1).map(([name, count]) => `${name}: ${count} times`)

  const unacknowledged: string[] = []
  for (const activity of all) {
    if (activity.kind !== 'follow') continue
    const row = await store.follows.find(activity.followerId, followed, receiver)
    if (!row?.acknowledged || !row.accepted) unacknowledged.push(activity.followerId)
  }

  const rows = await store.deliveries.list({ limit: 100 })
  const { types } = await storage.count({ types: [deliveryType] })
  const { completed = 0, ...others } = types[0]?.states ?? {}
  const left: string[] = []
  for (const { id, status, lastError } of rows) {
    const [job] = await storage.get([{ type: deliveryType, id }])
    // The worker died before it removed the row. Upkeep removes it.
    if (status !== 'open' || job?.state !== 'completed') left.push(`row ${id}: ${status}, ${lastError}, ${job?.state}`)
  }
  for (const [state, count] of Object.entries(others)) if (count > 0) left.push(`${count} jobs are ${state}`)
  if (completed !== activities) left.push(`${completed} of ${activities} jobs are completed`)

  // An acknowledgement is encrypted anew whenever it is made, so equal bytes are those of one that was stored.
  const unequal = acks.size === activities ? [] : [`${acks.size} acknowledgements of ${activities} messages`]

  const isClean = [lost, repeated, unacknowledged, left, unequal, unreached].every((problems) => problems.length === 0)
  return { lost, repeated, unacknowledged, left, unequal, unreached, isClean }
}
