// The plan of faults, drawn from the seed: the time and the target of the next fault, and the kill points. Every
// point is used once before any is repeated.

import { highestNumber, isOfReaper, nameOf, type Point, parsePoint, pointNames, type Role } from './points.ts'
import { type ProxyFault, proxyFaultNames, proxyFaults } from './proxy-faults.ts'
import { type Random, randomOf } from './random.ts'

export const faultKinds = ['kill', 'stop', 'point', 'full', 'server', 'freeze', 'session', 'proxy'] as const
export type FaultKind = (typeof faultKinds)[number]

/** Pause between two kills, ms. */
const killPauses = [350, 1_150] as const
/** Pause between the end of a stop and the next stop, ms. */
const stopPauses = [400, 1_600] as const
/** Duration of a stop, in leases. */
const stopLengths = [1.2, 2.2] as const
/** Pause between the return of the server and its next kill, and its absence besides the time to start, ms. */
const [serverPauses, serverAbsences] = [
  [2_000, 5_000],
  [20, 900],
] as const
/** Pause between two freezes of the server, and their duration: some are longer than a call may take, ms. */
const [freezePauses, freezeLengths] = [
  [8_000, 16_000],
  [2_000, 7_000],
] as const
/** Pause between two sessions that the server ends, ms. */
const sessionPauses = [400, 1_600] as const
/** Pause between two connection faults, ms. */
const proxyPauses = [150, 1_000] as const
/** Delay per direction, ms: both together stay below a third of the usual lease. */
const proxyDelays = [1, 160] as const
/** Share of replacement processes with a kill point. Without other kills every replacement has one. */
const armedShare = { besideKills: 0.45, alone: 1 }

interface PlannedProxyFault {
  readonly afterMs: number
  readonly fault: ProxyFault
  readonly forMs: number
  /** For a delay. */
  readonly delayMs: number
  readonly victim: number
}

export class Plan {
  readonly #kills: Random
  readonly #stops: Random
  readonly #points: Random
  readonly #server: Random
  readonly #freezes: Random
  readonly #sessions: Random
  readonly #proxies: Random
  readonly #faults: ProxyFault[] = []
  readonly #decks: Record<Role, string[]> = { worker: [], producer: [], operator: [] }

  readonly #armedShare: number

  readonly #calm: number

  /** @param calm factor of all pauses between faults */
  constructor(seed: number, kinds: readonly FaultKind[], calm = 1) {
    this.#calm = calm
    this.#armedShare = kinds.includes('kill') ? armedShare.besideKills : armedShare.alone
    this.#kills = randomOf(seed, 'kills')
    this.#stops = randomOf(seed, 'stops')
    this.#points = randomOf(seed, 'points')
    this.#server = randomOf(seed, 'server')
    this.#freezes = randomOf(seed, 'freezes')
    this.#sessions = randomOf(seed, 'sessions')
    this.#proxies = randomOf(seed, 'proxies')
  }

  nextKill(): { readonly afterMs: number; readonly victim: number } {
    return { afterMs: this.#calm * this.#kills.between(...killPauses), victim: this.#kills.next() }
  }

  nextStop(leaseMs: number): { readonly afterMs: number; readonly forMs: number; readonly victim: number } {
    return {
      afterMs: this.#calm * this.#stops.between(...stopPauses),
      forMs: leaseMs * this.#stops.between(...stopLengths),
      victim: this.#stops.next(),
    }
  }

  nextServerKill(): { readonly afterMs: number; readonly forMs: number } {
    return {
      afterMs: this.#calm * this.#server.between(...serverPauses),
      forMs: this.#server.between(...serverAbsences),
    }
  }

  nextFreeze(): { readonly afterMs: number; readonly forMs: number } {
    return {
      afterMs: this.#calm * this.#freezes.between(...freezePauses),
      forMs: this.#freezes.between(...freezeLengths),
    }
  }

  nextSession(): { readonly afterMs: number; readonly drawn: number } {
    return { afterMs: this.#calm * this.#sessions.between(...sessionPauses), drawn: this.#sessions.next() }
  }

  /** Uses each fault once before any is repeated. */
  nextProxyFault(): PlannedProxyFault {
    if (this.#faults.length === 0) this.#faults.push(...this.#proxies.shuffled(proxyFaultNames))
    const fault = this.#faults.shift()!
    return {
      afterMs: this.#calm * this.#proxies.between(...proxyPauses),
      fault,
      forMs: this.#proxies.between(proxyFaults[fault].ms[0], proxyFaults[fault].ms[1]),
      delayMs: Math.round(this.#proxies.between(...proxyDelays)),
      victim: this.#proxies.next(),
    }
  }

  /** The kill point of a process that is about to start, if any. */
  nextPoint(role: Role, slot: number): Point | undefined {
    if (this.#points.next() >= this.#armedShare) return undefined
    const deck = this.#decks[role]
    if (!deck.some((name) => canHave(name, slot))) deck.push(...this.#points.shuffled(pointNames[role]))
    const [name] = deck.splice(
      deck.findIndex((candidate) => canHave(candidate, slot)),
      1,
    )
    return parsePoint(`${name!}:${this.#points.integer(1, highestNumber(name!))}`)
  }

  /** Returns a point whose process ended otherwise. */
  giveBack(role: Role, point: Point): void {
    this.#decks[role].unshift(nameOf(point))
  }
}

/** Only the worker of slot 0 may have a Reaper. */
function canHave(name: string, slot: number): boolean {
  return slot === 0 || !isOfReaper(name.slice(0, name.indexOf(':')))
}
