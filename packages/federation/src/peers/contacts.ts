// Contacts with peers in the profile `hardened`: when a peer may be contacted, and what follows from how that went.
// Invariant: a peer that is not healthy has one contact at a time (its group has one slot), and none before its next instant.

import { FederationError, federationCodeOf } from '../errors.ts'
import type { SendingContext } from '../context.ts'
import { healthCheckId } from './health-check-id.ts'
import { markServerHealthy } from './health.ts'
import type { PeerHolds } from './holds.ts'
import { OwnOutage } from './own-outage.ts'
import { afterFailure, afterSuccess, newPeer, type PeerState } from './peer-state.ts'
import { probe } from './probe.ts'
import { SlowPeers } from './slow-peers.ts'

/** The name of the jobs that end a hold. */
export const contactName = 'contact'

/** How long a delivery that met a hold waits. The hold itself keeps it from running. */
const heldMs = 1_000
/** Longest time that deliveries wait for the end of a first contact before they look again. */
const longestTurnMs = 15_000

export interface ContactDependencies {
  readonly holds: PeerHolds
  /** Adds the job that ends a hold at this instant. A repeat changes nothing. */
  readonly scheduleContact: (origin: string, id: string, runAt: number) => Promise<void>
}

/** A contact that has begun. */
export interface Contact {
  /** State of the peer before; undefined if it was never contacted. */
  readonly known: PeerState | undefined
  /** Lets the next contact begin. */
  end(): void
}

/** How a contact failed. */
export interface FailedContact {
  /** When it began, epoch ms. */
  readonly startedAt: number
  readonly cause?: unknown
  /** The server answered a probe with 410. @default false */
  readonly saysGone?: boolean
}

export class PeerContacts {
  readonly #dependencies: ContactDependencies
  /** Peers that are not healthy and are contacted now, by this process, with the instant when that began. */
  readonly #running = new Map<string, number>()
  readonly #slow: SlowPeers
  readonly #outage = new OwnOutage()
  #outageToldAt = -Infinity

  /** @param slots deliveries at a time, per process */
  constructor(dependencies: ContactDependencies, slots: number) {
    this.#dependencies = dependencies
    this.#slow = new SlowPeers(slots)
  }

  /**
   * Before a delivery: may the peer be contacted? A peer that is down is probed first.
   * @param read state that was read a moment ago. It is read again unless it is healthy: a contact may have failed since
   * @throws FederationError PEER_HELD with `retryAfterMs`
   */
  async begin(
    context: SendingContext,
    origin: string,
    signal: AbortSignal | undefined,
    read?: PeerState,
  ): Promise<Contact> {
    const { clock } = context
    const known = read?.state === 'healthy' ? read : await context.store.peerStates.get(origin)
    if (known?.state === 'gone') return { known, end: () => {} }
    const isHealthy = known?.state === 'healthy'
    // A peer that is not healthy, or was never reached, has one contact at a time: many that never answer must not take all slots. All of its
    // deliveries wait, for twice as long each time: else they would take turns in finding the contact under way.
    const begun = isHealthy ? undefined : this.#running.get(origin)
    if (begun !== undefined) {
      const retryAfterMs = Math.min(Math.max(heldMs, Math.ceil(clock.monotonic() - begun)), longestTurnMs)
      throw heldError(origin, { retryAfterMs, scope: 'group' })
    }
    const isNew = !known || known.state === 'unproven'
    const slot = this.#slow.take(origin, isHealthy ? 'healthy' : isNew ? 'new' : 'unwell', clock.monotonic())
    if (!slot) {
      // At random, so that many that wait do not come back together.
      const retryAfterMs = Math.ceil(heldMs * (1 + clock.random()))
      throw heldError(origin, { retryAfterMs, scope: 'group' })
    }
    if (!isHealthy) this.#running.set(origin, clock.monotonic())
    const end = (): void => {
      slot.end(clock.monotonic())
      if (!isHealthy) this.#running.delete(origin)
    }
    try {
      if (known && !isHealthy) await this.#checkDue(context, origin, known, signal)
      return { known, end }
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
    if (!peer) return
    const { outcome, cause } = await probe(context, peer, { timeoutMs: policies.health.timeoutMs, signal })
    // Not healthy yet: a server whose keys are a static file may still refuse every delivery, and would be contacted without a back-off.
    if (outcome === 'as_pinned') return
    signal?.throwIfAborted()
    throw await this.failed(context, origin, { startedAt, cause, saysGone: outcome === 'gone' })
  }

  /** Records a failed contact, holds the peer, and returns the error that makes the delivery wait for it. */
  async failed(context: SendingContext, origin: string, failed: FailedContact): Promise<FederationError> {
    const { store, clock, policies } = context
    const { startedAt, cause, saysGone = false } = failed
    const isOwnOutage = this.#noteFailure(context, origin, cause)
    let isCounted = false
    const state = await store.peerStates.change(origin, clock.now(), (before = newPeer, changedAt = -Infinity) => {
      // Deliveries that failed together are one failed contact.
      isCounted = changedAt < startedAt
      const failure = { now: clock.now(), random: clock.random(), isOwnOutage, saysGone }
      return isCounted ? afterFailure(before, failure, policies.contact) : undefined
    })
    const { failures, nextContactAt } = state
    if (isCounted) {
      const code = federationCodeOf(cause) ?? 'UNREACHABLE'
      context.emit('contact_failed', { origin, code, state: state.state, failures, nextContactAt })
    }
    // Another delivery succeeded after this one had begun.
    if (state.state === 'healthy') return heldError(origin, { cause })
    if (state.state === 'gone') await this.#dependencies.holds.release(origin)
    else {
      // A success, in any process, ends the row of failures.
      await context.slots.narrow(origin, failures > 1)
      await this.#hold(origin, state)
    }
    return heldError(origin, { cause, nextContactAt })
  }

  /** Returns whether this server's own network seems to be down. */
  #noteFailure(context: SendingContext, origin: string, cause: unknown): boolean {
    const now = context.clock.monotonic()
    const code = federationCodeOf(cause)
    this.#outage.note(origin, code === 'TRANSPORT' || code === 'DISCOVERY_FAILED' || code === 'UNREACHABLE', now)
    if (!this.#outage.isLikely) return false
    if (now - this.#outageToldAt >= 60_000) {
      this.#outageToldAt = now
      context.logger?.error?.({}, 'federation: most peers do not answer. Check the network of this server.')
      context.emit('own_outage', {})
    }
    return true
  }

  /** Records that the peer answered: it acknowledged a delivery, or refused it. */
  async succeeded(context: SendingContext, origin: string): Promise<void> {
    const { store, clock } = context
    this.#outage.note(origin, false, clock.monotonic())
    const before = await store.peerStates.get(origin)
    const isRecent = before?.lastSuccessAt !== undefined && before.lastSuccessAt > clock.now() - 60_000
    if (before?.state === 'healthy' && isRecent) return
    await store.peerStates.change(origin, clock.now(), () => afterSuccess(clock.now()))
    if (before === undefined || before.state === 'healthy' || before.state === 'unproven') return
    await context.slots.widen(origin)
    await this.#dependencies.holds.release(origin)
    await markServerHealthy(context, origin)
  }

  /** A job: ends the hold of a peer whose next contact is due. */
  async resume({ store, clock }: SendingContext, origin: string): Promise<void> {
    const state = await store.peerStates.get(origin)
    if (state === undefined || state.nextContactAt <= clock.now()) await this.#dependencies.holds.release(origin)
  }

  /** Upkeep: ends holds that are over. A process may have died between the hold of a peer and the job that ends it. */
  async resumeAll(context: SendingContext, isStopped: () => boolean): Promise<void> {
    for (const origin of await this.#dependencies.holds.held()) {
      if (isStopped()) return
      await this.resume(context, origin)
    }
  }

  /** The peer sent an authenticated message, or answered the operator's probe: it may be contacted now. */
  async heard({ store, clock }: SendingContext, origin: string): Promise<void> {
    const before = await store.peerStates.get(origin)
    if (!before || (before.state !== 'gone' && before.nextContactAt <= clock.now())) return
    await store.peerStates.change(
      origin,
      clock.now(),
      (known) => known && (known.state === 'gone' ? newPeer : { ...known, nextContactAt: clock.now() }),
    )
    await this.#dependencies.holds.release(origin)
  }

  /** The job first: a hold without one would stay until upkeep finds it. Its id has the instant, so that a later hold has its own. */
  async #hold(origin: string, { nextContactAt }: PeerState): Promise<void> {
    const id = healthCheckId(origin, nextContactAt).replace('health-check', contactName)
    await this.#dependencies.scheduleContact(origin, id, nextContactAt)
    await this.#dependencies.holds.hold(origin)
  }
}

interface Held {
  readonly cause?: unknown
  readonly retryAfterMs?: number
  readonly scope?: 'job' | 'group'
  readonly nextContactAt?: number
}

function heldError(origin: string, held: Held = {}): FederationError {
  const message = `delivery to ${origin}: the server is not contacted now, after a failure. It goes on later, and no attempt was spent.`
  return new FederationError('PEER_HELD', message, { retryAfterMs: heldMs, scope: 'job', ...held })
}
