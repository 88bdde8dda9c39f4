// The slots of a peer: how many deliveries to it run at a time, over all processes. A delivery is a job in the group of its peer, so the
// engine counts them, and peers take turns. While a peer is unhealthy, its group has a lower limit: an override like an operator's,
// under the name of this package. An override of an operator is left alone.
//
// What the engine does not offer: a retry that costs an attempt and slows the group down. So in the profile `seed`, after a failed request,
// each delivery waits for its own backoff, and the group goes on with the lower limit. The profile `hardened` holds the group (holds.ts).

import { isHoldfastError, type Logger, type Queue } from 'holdfast'
import { canonicalOrigin } from '../origin.ts'
import type { Policies } from '../policies.ts'

export interface PeerSlots {
  /**
   * Lowers the limit of a peer that becomes unhealthy. Never rejects: without it the peer has the slots of a healthy one.
   * @param isKnown it was unhealthy before. Then nothing is done if this process has lowered the limit: limits of all groups are one entry,
   * and reading it for every failed contact with one of many dead peers would cost more than the contact. @default false
   */
  narrow(origin: string, isKnown?: boolean): Promise<void>
  /** Takes back what narrow() did. Never rejects. */
  widen(origin: string): Promise<void>
  /** Takes back what narrow() did for peers that are well or unknown: a process may have died between the limit and the row. */
  reconcile(isUnwell: (origin: string) => Promise<boolean>): Promise<void>
}

/** The operator's name in the overrides of this package. */
const by = '@holdfast/federation'
/** Most peers that this process remembers. */
const maxNarrowed = 10_000

/** Returns the group of deliveries to this server. Undefined if the URL does not name one: its deliveries end before a request. */
export function peerGroup(serverUrl: string, options: { readonly allowHttp: boolean }): string | undefined {
  try {
    return canonicalOrigin(serverUrl, options)
  } catch {
    return undefined
  }
}

export function peerSlots(
  queue: Pick<Queue<unknown>, 'limits' | 'setLimits'>,
  { delivery }: Policies,
  logger: Logger | undefined,
): PeerSlots {
  const setBy = async (group: string): Promise<{ readonly by: string | undefined } | undefined> => {
    const { groups } = await queue.limits({ groups: [group] })
    const override = groups.find((info) => info.group === group)?.override
    return override && { by: override.by }
  }
  const attempt = async (origin: string, change: () => Promise<void>): Promise<void> => {
    try {
      await change()
    } catch (error) {
      // Most likely too many groups have limits of their own, or the storage is unreachable.
      const code = isHoldfastError(error) ? error.code : undefined
      logger?.warn?.({ origin, code }, `federation: the limit of deliveries to ${origin} could not be changed`)
    }
  }
  const narrowed = new Set<string>()
  const widen = (origin: string): Promise<void> =>
    attempt(origin, async () => {
      narrowed.delete(origin)
      if ((await setBy(origin))?.by === by) await queue.setLimits(null, { group: origin, by })
    })
  return {
    widen,
    narrow: (origin, isKnown = false) =>
      attempt(origin, async () => {
        if (isKnown && narrowed.has(origin)) return
        if (!(await setBy(origin))) await queue.setLimits({ limit: delivery.perUnhealthyPeer }, { group: origin, by })
        if (narrowed.size >= maxNarrowed) narrowed.clear()
        narrowed.add(origin)
      }),
    reconcile: async (isUnwell) => {
      const { groups } = await queue.limits()
      for (const { group, override } of groups) {
        if (override?.by === by && !(await isUnwell(group))) await widen(group)
      }
    },
  }
}
