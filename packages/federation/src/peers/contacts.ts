// Contacts with peers in the profile `hardened`: when a peer may be contacted, and what follows from how that went.
// Invariant: a peer that is not healthy has one contact at a time (its group has one slot), and none before its next instant.

import { FederationError } from '../errors.ts'
import type { SendingContext } from '../context.ts'
import { healthCheckId } from './health-check-id.ts'
import { markServerHealthy } from './health.ts'
import type { PeerHolds } from './holds.ts'
import { afterFailure, afterSuccess, newPeer, type PeerState } from './peer-state.ts'
import { answersAsPinned } from './probe.ts'

/** The name of the jobs that end a hold. */
export const contactName = 'contact'

/** How long a delivery that met a hold waits. The hold itself keeps it from running. */
const heldMs = 1_000

export interface ContactDependencies {
  readonly holds: PeerHolds
  /** Adds the job that ends a hold at this instant. A repeat changes nothing. */
  readonly scheduleContact: (origin: string, id: string, runAt: number) => Promise<void>
}

export class PeerContacts {
  readonly #dependencies: ContactDependencies
  /** Peers that are not healthy and are contacted now, by this process. */
  readonly #running = new Set<string>()
  constructor(dependencies: ContactDependencies) {
    this.#dependencies = dependencies
  }

  /**
   * Before a delivery: may the peer be contacted? A peer that is down is probed first. Returns a function to call when the contact has ended.
   * @throws FederationError PEER_HELD with `retryAfterMs`
   */
  async begin(context: SendingContext, origin: string, signal: AbortSignal | undefined): Promise<() => void> {
    const known = await context.store.peerStates.get(origin)
    if (known?.state === 'healthy') return () => {}
    // A peer that is not healthy, or was never reached, has one contact at a time: many that never answer must not take all slots.
    if (this.#running.has(origin)) throw heldError(origin)
    this.#running.add(origin)
    const end = (): void => void this.#running.delete(origin)
    try {
      if (known) await this.#checkDue(context, origin, known, signal)
      return end
    } catch (error) {
      end()
      throw error
    }
  }

  async #checkDue(
    context: SendingContext,
    origin: string,
    known: PeerState,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const { store, clock, policies } = context
    if (known.nextContactAt > clock.now()) {
      await this.#hold(origin, known)
      throw heldError(origin)
    }
    if (known.state !== 'down' && known.state !== 'dead') return
    const startedAt = clock.now()
    const peer = await store.peers.get(origin)
    // Without pinned keys the delivery itself begins with a request for them.
    if (!peer || (await answersAsPinned(context, peer, { timeoutMs: policies.health.timeoutMs, signal }))) return
    signal?.throwIfAborted()
    throw await this.failed(context, origin, startedAt)
  }

  /** Records a failed contact, holds the peer, and returns the error that makes the delivery wait for it. */
  async failed(context: SendingContext, origin: string, startedAt: number, cause?: unknown): Promise<FederationError> {
    const { store, clock } = context
    const state = await store.peerStates.change(origin, clock.now(), (before = newPeer, changedAt = 0) =>
      // Deliveries that failed together are one failed contact.
      changedAt > startedAt ? undefined : afterFailure(before, clock.now(), clock.random()),
    )
    await context.slots.narrow(origin)
    await this.#hold(origin, state)
    return heldError(origin, cause)
  }

  /** Records that the peer acknowledged a delivery. */
  async succeeded(context: SendingContext, origin: string): Promise<void> {
    const { store, clock } = context
    const before = await store.peerStates.get(origin)
    const isRecent = before?.lastSuccessAt !== undefined && before.lastSuccessAt > clock.now() - 60_000
    if (before?.state === 'healthy' && isRecent) return
    await store.peerStates.change(origin, clock.now(), () => afterSuccess(clock.now()))
    if (before === undefined || before.state === 'healthy' || before.state === 'unproven') return
    await context.slots.widen(origin)
    await this.#dependencies.holds.release(origin)
    await markServerHealthy(context, origin)
  }

  /** A job, or upkeep: ends the hold of a peer whose next contact is due. */
  async resume({ store, clock }: SendingContext, origin: string): Promise<void> {
    const state = await store.peerStates.get(origin)
    if (state === undefined || state.nextContactAt <= clock.now()) await this.#dependencies.holds.release(origin)
  }

  /** The peer sent an authenticated message: it may be contacted now. */
  async heard({ store, clock }: SendingContext, origin: string): Promise<void> {
    const before = await store.peerStates.get(origin)
    if (!before || before.nextContactAt <= clock.now()) return
    await store.peerStates.change(origin, clock.now(), (known) => known && { ...known, nextContactAt: clock.now() })
    await this.#dependencies.holds.release(origin)
  }

  /** The job first: a hold without one would stay until upkeep finds it. */
  async #hold(origin: string, { failures, nextContactAt }: PeerState): Promise<void> {
    const id = healthCheckId(origin, failures).replace('health-check', contactName)
    await this.#dependencies.scheduleContact(origin, id, nextContactAt)
    await this.#dependencies.holds.hold(origin)
  }
}

function heldError(origin: string, cause?: unknown): FederationError {
  const message = `delivery to ${origin}: the server is not contacted now, after a failure. It goes on later, and no attempt was spent.`
  return new FederationError('PEER_HELD', message, { retryAfterMs: heldMs, scope: 'job', cause })
}
