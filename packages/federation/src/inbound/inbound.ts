// What all routes share: the context, the app's handlers and the rate limits.

import type { FederationContext } from '../context.ts'
import { LoopTurns } from '../loop-turns.ts'
import { Budget } from '../peers/budget.ts'
import { clientAddress, type ClientAddress } from './client-address.ts'
import type { InboundHandlers } from './handlers.ts'
import { CommitGroups } from './commit-groups.ts'
import { Limiter } from './limiter.ts'
import type { Received } from './receive-once.ts'
import { Rotations } from './rotations.ts'
import { type Refusal, refuse } from './refusal.ts'

export interface InboundOptions {
  readonly handlers?: InboundHandlers
}

export interface Inbound {
  readonly context: FederationContext
  readonly handlers: InboundHandlers
  readonly addressOf: ClientAddress
  readonly limits: Readonly<Record<'ip' | 'peer' | 'discover' | 'relay', Limiter>>
  /** Requests to other servers on behalf of unauthenticated clients, over all of them. */
  readonly fetches: Budget
  /** Turns of the event loop, for cryptography. */
  readonly turns: LoopTurns
  /** Messages that share commits. */
  readonly commits: CommitGroups
  /** Rotations of keys that peers have begun. */
  readonly rotations: Rotations
  /** Messages that are decided about, by sender and message key. */
  readonly running: Map<string, Promise<Received>>
  /** Their number, by sender. */
  readonly runningOf: Map<string, number>
}

/** A request with its client address and its parsed body. */
export interface Call {
  readonly request: Request
  /** Key of the client's budgets. */
  readonly address: string
  readonly body: unknown
}

/** Answers a request. Refusals are thrown. */
export type Route = (inbound: Inbound, call: Call) => Promise<Response>

const minute = 60_000
const relayedPerMinute = 100

export function newInbound(context: FederationContext, { handlers = {} }: InboundOptions): Inbound {
  const { clock, policies } = context
  const { perIpPerMinute, perPeerPerMinute, discoverPerIpPerHour, strangerFetchesPerMinute, trustedProxies } =
    policies.inbound
  return {
    context,
    handlers,
    addressOf: clientAddress(trustedProxies),
    limits: {
      ip: new Limiter(clock, perIpPerMinute, minute),
      peer: new Limiter(clock, perPeerPerMinute, minute),
      discover: new Limiter(clock, discoverPerIpPerHour, 60 * minute),
      relay: new Limiter(clock, relayedPerMinute, minute),
    },
    fetches: new Budget(clock, strangerFetchesPerMinute, minute),
    turns: new LoopTurns(clock),
    commits: new CommitGroups(clock),
    running: new Map(),
    runningOf: new Map(),
    rotations: new Rotations(clock),
  }
}

/** Takes one use of a budget. @throws Refusal RATE_LIMITED */
export function spend(limiter: Limiter, key: string, from?: string): void {
  const waitMs = limiter.take(key)
  if (waitMs !== undefined) throw rateLimited(waitMs, from)
}

/** The refusal of a request whose budget is used up for so many ms. */
export function rateLimited(waitMs: number, from: string | undefined): Refusal {
  const headers = { 'Retry-After': String(Math.max(1, Math.ceil(waitMs / 1000))) }
  return refuse('RATE_LIMITED', 'too many requests', { from, headers })
}

/** @throws Refusal ORIGIN_MISSING */
export function ownOrigin({ context }: Inbound): string {
  if (context.origin !== undefined) return context.origin
  throw refuse('ORIGIN_MISSING', 'the origin of this server is not set')
}

export function answer(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Response {
  return answerText(status, JSON.stringify(body), headers)
}

/** @param text JSON */
export function answerText(status: number, text: string, headers: Readonly<Record<string, string>> = {}): Response {
  const own = { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' }
  return new Response(text, { status, headers: { ...own, ...headers } })
}
