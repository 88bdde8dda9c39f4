// The outbox: writes deliveries and their jobs. An activity for many servers has one stored body. All is one transaction where the storage
// shares the database of the tables. Elsewhere the jobs are added after the commit, or by upkeep if the process dies first.

import type { Storage } from 'holdfast'
import type { SendingContext } from './context.ts'
import { FederationError, originMissing } from './errors.ts'
import { invalidArgument } from './invalid-argument.ts'
import type { FederationDeliveryJob } from './jobs.ts'
import { methodOf } from './inbound/methods.ts'
import { isAllowed } from './deliver/read-payload.ts'
import { canonicalOrigin } from './origin.ts'
import type { FederationQueue } from './queues.ts'
import { parseJson } from './wire/v1/json.ts'
import type { DeliveryRow, FanOut, StoreTransaction } from './store/store.ts'

/** Recipients that are looked up in one turn of the event loop. */
const recipientsPerTurn = 20

/** What is sent to other servers. */
export interface Activity {
  /** Id of the activity. The same id to the same server is one delivery. @default a new one */
  readonly id?: string
  /** Name of the jobs, which chooses the acknowledgement handler. @default 'deliver-activity' */
  readonly name?: string
  /** The message: `method` and the fields of that method. `federationUrl` is this server unless it is given. */
  readonly payload: Readonly<Record<string, unknown>> & { readonly method: string }
  /** Deliveries to one server with the same key are sent one at a time, in order. @default none: in any order */
  readonly orderKey?: string
  /** Path of the inboxes. @default '/inbox' */
  readonly path?: string
}

export interface SendOptions {
  /** A transaction of the app that the deliveries become part of. */
  readonly tx?: unknown
}

/** What became of an activity for one server. */
export type SendResult =
  | { readonly origin: string; readonly id: string }
  /** Nothing is sent: the server is blocked, has ended, or is this one. */
  | { readonly origin: string; readonly skipped: 'blocked' | 'gone' | 'self' }

export interface OutboxDependencies {
  readonly storage: Storage
  readonly queue: FederationQueue<FederationDeliveryJob>
}

/**
 * @param also writes that become part of the transaction
 * @throws FederationError ORIGIN_INVALID, ORIGIN_MISSING; TypeError INVALID_ARGUMENT. Then nothing was written.
 */
export async function send(
  context: SendingContext,
  dependencies: OutboxDependencies,
  activity: Activity,
  recipients: readonly string[],
  { tx: given }: SendOptions = {},
  also: (tx: StoreTransaction) => Promise<unknown> = async () => {},
): Promise<SendResult[]> {
  const { store, clock, contacts, origin: own } = context
  if (own === undefined) throw new FederationError('ORIGIN_MISSING', originMissing)
  const { id = clock.newId(), name = 'deliver-activity', payload, orderKey, path = '/inbox' } = activity
  if (typeof payload?.method !== 'string') throw invalidArgument('payload', 'an object with a method')
  if (!isAllowed(context, payload.method))
    throw invalidArgument('payload.method', 'one of policies.methods', payload.method)
  if (!Array.isArray(recipients)) throw invalidArgument('recipients', 'a list of origins', recipients)
  if (!path.startsWith('/')) throw invalidArgument('path', 'a path that begins with /', path)
  const text = JSON.stringify({ federationUrl: own, ...payload })
  // As text: it is what the receiver checks, with instants for dates. It would refuse the message for good.
  const problem = methodOf(payload.method).problemOf(parseJson(text)?.value)
  if (problem !== undefined) throw invalidArgument('payload', `the fields of ${payload.method} (${problem})`)
  const origins = [...new Set(recipients.map((recipient) => canonicalOrigin(recipient, context)))]
  const resultOf = async (origin: string): Promise<SendResult> => {
    if (origin === own) return { origin, skipped: 'self' }
    if (await store.blacklist.matching(origin)) return { origin, skipped: 'blocked' }
    if (contacts && (await store.peerStates.get(origin))?.state === 'gone') return { origin, skipped: 'gone' }
    return { origin, id: `${id} ${origin}` }
  }
  const results: SendResult[] = []
  for (let at = 0; at < origins.length; at += recipientsPerTurn) {
    // A transaction of the app may be open.
    await context.turns.take('begun')
    results.push(...(await Promise.all(origins.slice(at, at + recipientsPerTurn).map(resultOf))))
  }
  const jobs = results.flatMap((result): FederationDeliveryJob[] => {
    if (!('id' in result)) return []
    const { origin: serverUrl, id: deliveryJobId } = result
    // Without a payload: the attempt reads the stored body.
    const job = { deliveryJobId, serverUrl, targetUrl: serverUrl + path, payload: '' }
    return [{ ...job, ...(orderKey !== undefined && { orderKey }) }]
  })
  const fanOut: FanOut = {
    name,
    // A new id: a delivery of an activity with the same id may have another body.
    bodyId: clock.newId(),
    payload: text,
    orderKey,
    createdAt: clock.now(),
    deliveries: jobs.map(({ deliveryJobId, targetUrl, serverUrl }) => ({ id: deliveryJobId, targetUrl, serverUrl })),
  }
  return writeWithJobs(context, dependencies, name, given, async (tx) => {
    await also(tx)
    if (jobs.length > 0) await store.deliveries.fanOut(fanOut, tx)
    return { value: results, jobs }
  })
}

interface Written<T> {
  readonly value: T
  /** Jobs of the rows that were written. */
  readonly jobs: readonly FederationDeliveryJob[]
}

/**
 * Writes rows, and adds their jobs: in the same transaction if the storage shares the database, else after its commit.
 * @param given a transaction of the app. Without a shared database, upkeep adds the jobs within two minutes of its commit.
 */
export async function writeWithJobs<T>(
  { store, backlogs }: SendingContext,
  { storage, queue }: OutboxDependencies,
  name: string,
  given: unknown,
  write: (tx: StoreTransaction) => Promise<Written<T>>,
): Promise<T> {
  const both = async (tx: StoreTransaction): Promise<Written<T> & { readonly isAdded: boolean }> => {
    const { value, jobs } = await write(tx)
    const jobTx = store.storageTransaction(storage, tx)
    if (jobTx !== undefined && jobs.length > 0) await queue.addMany(name, jobs, jobTx)
    return { value, jobs, isAdded: jobTx !== undefined }
  }
  // What waits for a peer is not bounded here: the transaction has not committed. Upkeep does it.
  if (given !== undefined) return (await both(store.join(given))).value
  const { value, jobs, isAdded } = await store.transaction(both)
  if (!isAdded && jobs.length > 0) await queue.addMany(name, jobs)
  await backlogs.added(jobs)
  return value
}

/** Returns the job of a row, as it was added with it. */
export function jobOf({ id, targetUrl, serverUrl, payload, orderKey }: DeliveryRow): FederationDeliveryJob {
  return { deliveryJobId: id, targetUrl, serverUrl, payload, ...(orderKey !== undefined && { orderKey }) }
}
