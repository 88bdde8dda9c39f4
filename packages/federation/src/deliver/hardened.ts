// One attempt in the profile `hardened`: what a failure means for the delivery and for its peer. A failed contact costs the delivery nothing;
// it ends by its age, or by an answer that no repetition can mend.

import { isHoldfastError } from 'holdfast'
import type { SendingContext } from '../context.ts'
import { federationCodeOf } from '../errors.ts'
import type { FederationDeliveryJob, ProcessorJob } from '../jobs.ts'
import { peerGroup } from '../peers/slots.ts'
import type { PeerContacts } from '../peers/contacts.ts'
import { askedWaitMs } from './asked-to-wait.ts'
import { endAndKeep } from './end.ts'
import type { Delivered } from './process.ts'

/** Statuses that a repetition does not change. 401 and 403 are repeated: this server may register again meanwhile. */
const final: ReadonlySet<number> = new Set([400, 404, 405, 410, 413, 415, 421, 422, 501])
const maxForbidden = 3
/** Attempts after which a delivery that alone draws errors of the server is given up. */
const maxRefused = 8

export async function deliverHardened(
  context: SendingContext,
  contacts: PeerContacts,
  { data, signal }: ProcessorJob<FederationDeliveryJob>,
  acceptedAt: number,
  deliver: () => Promise<Delivered>,
): Promise<Delivered> {
  const { clock, policies } = context
  const id = data.deliveryJobId
  const origin = peerGroup(data.serverUrl, context)
  // A URL that names no server ends the delivery in its first steps.
  if (origin === undefined) return deliver()
  if (clock.now() - acceptedAt > policies.delivery.horizonMs) {
    const message = `delivery to ${origin}: it is older than policies.delivery.horizonMs. The delivery ended.`
    throw await endAndKeep(context, id, 'EXPIRED', message)
  }
  const end = await contacts.begin(context, origin, signal)
  const startedAt = clock.now()
  try {
    const delivered = await deliver()
    await contacts.succeeded(context, origin)
    return delivered
  } catch (error) {
    if (signal?.aborted || isHoldfastError(error, 'UNRECOVERABLE') || askedWaitMs(error) !== undefined) throw error
    throw await afterError(context, contacts, id, origin, startedAt, error)
  } finally {
    end()
  }
}

async function afterError(
  context: SendingContext,
  contacts: PeerContacts,
  id: string,
  origin: string,
  startedAt: number,
  error: unknown,
): Promise<unknown> {
  const code = federationCodeOf(error)
  if (code !== 'TRANSPORT' && code !== 'HTTP_STATUS' && code !== 'DISCOVERY_FAILED') return error
  const { status = 0 } = error as { readonly status?: number }
  const { attempts = 0, createdAt = startedAt } = (await context.store.deliveries.get(id)) ?? {}
  const isForbidden = status === 401 || status === 403
  if (final.has(status) || (isForbidden && attempts >= maxForbidden)) {
    // The server answered: it is well, and refuses this delivery.
    await contacts.succeeded(context, origin)
    return endAndKeep(
      context,
      id,
      'HTTP_STATUS',
      `delivery to ${origin}: the server answered ${status}. The delivery ended.`,
    )
  }
  if (status >= 500 && attempts >= maxRefused) {
    const { lastSuccessAt = 0 } = (await context.store.peerStates.get(origin)) ?? {}
    const message = `delivery to ${origin}: the server accepts others and answers ${status} to this one. The delivery ended.`
    if (lastSuccessAt > createdAt) return endAndKeep(context, id, 'PEER_REFUSES', message)
  }
  return contacts.failed(context, origin, startedAt, error)
}
