// The connection of a process to the storage: requests and replies take time, and may be lost, delayed, repeated or refused; hints may
// be lost, repeated or overtake each other.

import { type Storage, StorageError } from 'holdfast'
import type { KeyValue, Signal, Topic, Unlisten } from 'holdfast/storage'
import type { Random } from '../../random.ts'
import type { FaultRates } from './faults.ts'
import type { SimulatedNode } from './node.ts'
import type { Server } from './server.ts'
import type { Timeline } from './timeline.ts'

export interface LinkParts {
  readonly timeline: Timeline
  readonly server: Server
  readonly random: Random
  /** The rates in force: all 0 once the run is healed. */
  readonly rates: () => FaultRates
  readonly leaseMs: number
  readonly callTimeoutMs: number
  readonly claimsInFlight: number
  /** Called with each request that the process sends. */
  onSend(verb: string, args: readonly unknown[]): void
  /** Called with each message on its way, and, by the function that it returns, once it has arrived or is lost. */
  onMessage(): () => void
  /** Called with each answer before the process sees it. */
  onAnswer(verb: string, args: readonly unknown[], answer: unknown): void
}

const verbs =
  'add claim extend settle recover cancel revive remove pause sweep get list count nextDueAt connect disconnect clear'
const kvVerbs = 'get set setIfAbsent cas delete list'

/** Calls that a network could deliver twice without breaking the contract: each is recognised, or says the same again. */
const repeatable: readonly string[] = ['add', 'extend', 'settle', 'recover', 'get', 'count', 'nextDueAt', 'sweep']

/** Latency of one direction, in ms. */
const [shortest, longest] = [0.1, 3]

export function linkTo(node: SimulatedNode, parts: LinkParts): Storage {
  const { server, callTimeoutMs, claimsInFlight } = parts
  const link = new Link(node, parts)
  const all = (names: string, prefix: string): object =>
    Object.fromEntries(names.split(' ').map((verb) => [verb, (...args: unknown[]) => link.call(prefix + verb, args)]))
  return {
    ...(all(verbs, '') as Storage),
    kv: all(kvVerbs, 'kv.') as KeyValue,
    driver: 'simulated',
    features: { ...server.memory.features, sharedByProcesses: true, distributed: true },
    settings: { callTimeoutMs, claimsInFlight },
    listen: (topics, onSignal) => link.listen(topics, onSignal),
  }
}

class Link {
  readonly #node: SimulatedNode
  readonly #parts: LinkParts

  constructor(node: SimulatedNode, parts: LinkParts) {
    this.#node = node
    this.#parts = parts
  }

  call(verb: string, args: readonly unknown[]): Promise<unknown> {
    const { server, random, rates, onSend, onAnswer } = this.#parts
    onSend(verb, args)
    this.#node.unanswered++
    const answered = new Promise((resolve, reject) => {
      const { requestLost, replyLost, duplicate, storageError, diskFull } = rates()
      const isSilent = random.next() < 0.5
      const lose = (maybeApplied: boolean): void => {
        // A connection that is reset is noticed. One that falls silent is not: the caller's own timeout ends the call.
        if (!isSilent) this.#reply(() => reject(lost(verb, maybeApplied)))
      }
      const apply = (isFirst: boolean): void => {
        if (server.isDown) return isFirst ? this.#reply(() => reject(refused(verb))) : undefined
        if (isFirst && random.next() < storageError) return this.#reply(() => reject(refused(verb)))
        if (isFirst && verb === 'add' && random.next() < diskFull) return this.#reply(() => reject(full()))
        void answerTo(isFirst)
      }
      const answerTo = async (isFirst: boolean): Promise<void> => {
        try {
          const answer = await server.call(this.#node.name, verb, args)
          if (!isFirst) return
          if (server.isDown || random.next() < replyLost) return lose(true)
          this.#reply(() => {
            onAnswer(verb, args, answer)
            resolve(answer)
          })
        } catch (error) {
          if (isFirst) this.#reply(() => reject(error as Error))
        }
      }
      if (random.next() < requestLost) return this.#travel(this.#latency(), () => lose(true))
      this.#travel(this.#latency(), () => apply(true))
      if (repeatable.includes(verb) && random.next() < duplicate) this.#travel(this.#latency() * 3, () => apply(false))
    })
    const forget = (): void => void this.#node.unanswered--
    answered.then(forget, forget)
    return answered
  }

  async listen(topics: readonly Topic[], onSignal: (signal: Signal) => void): Promise<Unlisten> {
    this.#node.unanswered++
    try {
      return await this.#listen(topics, onSignal)
    } finally {
      this.#node.unanswered--
    }
  }

  async #listen(topics: readonly Topic[], onSignal: (signal: Signal) => void): Promise<Unlisten> {
    const { timeline, server, random, rates } = this.#parts
    if (server.isDown) {
      await new Promise<void>((resolve) => this.#reply(resolve))
      throw refused('listen')
    }
    const unlisten = await server.listen(topics, (signal) => {
      const { hintLost, hintDuplicate } = rates()
      if (server.isDown || random.next() < hintLost) return
      // Each on its own: a later one may come first.
      this.#reply(() => onSignal(signal))
      if (random.next() < hintDuplicate) this.#reply(() => onSignal(signal))
    })
    await new Promise<void>((resolve) => void timeline.after(this.#latency(), () => this.#node.deliver(resolve)))
    return async () => {
      if (this.#node.isDead) return
      await unlisten()
    }
  }

  #reply(callback: () => void): void {
    this.#travel(this.#latency(), () => this.#node.deliver(callback))
  }

  #travel(ms: number, arrive: () => void): void {
    const { timeline, onMessage } = this.#parts
    const arrived = onMessage()
    timeline.after(ms, () => {
      arrive()
      arrived()
    })
  }

  #latency(): number {
    const { random, rates, leaseMs } = this.#parts
    const isLate = random.next() < rates().delay
    return isLate ? random.between(longest, 2 * leaseMs) : random.between(shortest, longest)
  }
}

class LinkError extends Error {
  readonly transient = true
  readonly maybeApplied: boolean

  constructor(message: string, maybeApplied: boolean) {
    super(message)
    this.maybeApplied = maybeApplied
  }
}

const lost = (verb: string, maybeApplied: boolean): Error => new LinkError(`${verb}: connection reset`, maybeApplied)
const refused = (verb: string): Error => new LinkError(`${verb}: connection refused`, false)
const full = (): Error =>
  new StorageError('simulated storage: no space left. Nothing was written.', { maybeApplied: false })
