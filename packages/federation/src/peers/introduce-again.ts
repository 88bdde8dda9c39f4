// A peer whose keys are pinned here, but who does not know us: we died between the one and the other, its answer to our REGISTER
// was a failure, or it has forgotten us. Without this, no delivery would ever be taken by it.

import type { HttpResponse } from '../http/client.ts'
import type { FederationContext } from '../context.ts'
import { parseJson } from '../wire/v1/json.ts'
import { isObject } from '../wire/v1/schema.ts'
import { register } from './discover.ts'

/** What it says is not signed: whatever it may be up to, it is introduced to no more often. */
const everyMs = 10_000
const maxOrigins = 1_000

/** When each was introduced to, the latest last. */
const introduced = new WeakMap<FederationContext['http'], Map<string, number>>()

/** If the reply says that we are not known: REGISTER. The delivery itself is tried again as after every failure. */
export async function introduceAgain(
  context: FederationContext,
  origin: string,
  reply: Pick<HttpResponse, 'status' | 'body'>,
  signal?: AbortSignal,
): Promise<void> {
  if (!saysUnknown(reply)) return
  const { clock, http } = context
  const times = introduced.get(http) ?? new Map<string, number>()
  introduced.set(http, times)
  const now = clock.monotonic()
  if (now - (times.get(origin) ?? -Infinity) < everyMs) return
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
