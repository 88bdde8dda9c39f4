// A peer that asks for time: a reply with Retry-After and a status that means "not now". The delivery waits until then and no attempt is
// spent, and so do the other deliveries to this peer.
//
// A delivery that is older than its horizon does not wait any more. Its attempts are spent, so no peer can keep it for ever.

import type { HttpResponse } from '../http/client.ts'
import type { Delivery } from './delivery.ts'

/** Request Timeout, Too Early, Too Many Requests, Service Unavailable. */
const notNow: ReadonlySet<number> = new Set([408, 425, 429, 503])

const shortestMs = 1_000
const longestMs = 24 * 60 * 60_000

/** Returns the time to wait in ms; undefined if the peer does not ask for any, or if the delivery is too old. */
export function retryAfterMsOf(
  { context, acceptedAt }: Pick<Delivery, 'context' | 'acceptedAt'>,
  { status, headers }: Pick<HttpResponse, 'status' | 'headers'>,
): number | undefined {
  if (!notNow.has(status)) return undefined
  const now = context.clock.now()
  if (acceptedAt !== undefined && now - acceptedAt > context.policies.delivery.horizonMs) return undefined
  const asked = askedMs(headers['retry-after'], now)
  return asked === undefined ? undefined : Math.min(Math.max(asked, shortestMs), longestMs)
}

/** A number of seconds, or an HTTP date. */
function askedMs(text: string | undefined, now: number): number | undefined {
  if (text === undefined) return undefined
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1_000
  // Date.parse() accepts much that is no date of HTTP, such as "1.5".
  if (!/^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/.test(text)) return undefined
  // oxlint-disable-next-line no-restricted-globals -- parses text; the current time is not read
  const at = Date.parse(text)
  return Number.isNaN(at) ? undefined : at - now
}

/** Whether the other deliveries to the peer wait, too. */
export const waitScopeOf = (error: unknown): 'group' | 'job' =>
  (error as { readonly scope?: unknown } | null)?.scope === 'job' ? 'job' : 'group'

/** The time that an attempt waits without being spent: the peer asked for it, or the budget of discoveries is used up. */
export function askedWaitMs(error: unknown): number | undefined {
  const waitMs: unknown = (error as { readonly retryAfterMs?: unknown } | null)?.retryAfterMs
  return typeof waitMs === 'number' ? waitMs : undefined
}
