// Registers again with a peer whose keys are pinned here but that does not know this server: the process died between pin and
// REGISTER, REGISTER failed, or the peer lost its row. Without this the peer would refuse every delivery.

import type { HttpResponse } from '../http/client.ts'
import type { FederationContext } from '../context.ts'
import { parseJson } from '../wire/v1/json.ts'
import { isObject } from '../wire/v1/schema.ts'
import { register } from './discover.ts'

/** Shortest time between two REGISTERs with one peer, in ms. The reply that causes them is not signed. */
const intervalMs = 10_000
const maxOrigins = 1_000

/** Instant of the last REGISTER by origin, the latest last. */
const registeredAt = new WeakMap<FederationContext['http'], Map<string, number>>()

/** Sends REGISTER if the reply says that this server is unknown. The delivery itself is retried as after any failure. */
export async function registerAgain(
  context: FederationContext,
  origin: string,
  reply: Pick<HttpResponse, 'status' | 'body'>,
  signal?: AbortSignal,
): Promise<void> {
  if (!saysUnknown(reply)) return
  const { clock, http } = context
  const times = registeredAt.get(http) ?? new Map<string, number>()
  registeredAt.set(http, times)
  const now = clock.monotonic()
  if (now - (times.get(origin) ?? -Infinity) < intervalMs) return
  times.delete(origin)
  times.set(origin, now)
  if (times.size > maxOrigins) times.delete(times.keys().next().value!)
  await register(context, origin, signal)
}

function saysUnknown({ status, body }: Pick<HttpResponse, 'status' | 'body'>): boolean {
  if (status !== 403) return false
  const reply = parseJson(Buffer.from(body).toString())?.value
  return isObject(reply) && reply['code'] === 'UNKNOWN_FEDERATION_SERVER_INTERACTION'
}
