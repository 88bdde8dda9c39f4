// Adds jobs for as long as there is room for them: so many may be accepted and not completed.

import type { Session } from './contender.ts'
import { idOf, type Limits, payloadOf } from './load.ts'

const addsInFlight = 100
/** Of a bulk call, and how many of these are under way. */
const [bulkSize, bulksInFlight] = [100, 4]

/** One after the other, with so many calls under way. Resolves with how many there were. */
export async function addWithRoom(session: Session, room: Room, { jobs, seconds }: Limits): Promise<number> {
  const deadline = performance.now() + seconds * 1_000
  let next = 0
  const lane = async (): Promise<void> => {
    for (;;) {
      if (!room.enter()) await room.next()
      else if (next === jobs || performance.now() >= deadline) return room.leave()
      else {
        const n = next++
        await session.add(idOf(n), payloadOf(n))
      }
    }
  }
  await Promise.all(Array.from({ length: addsInFlight }, lane))
  return next
}

/** The same by bulk calls, where there are any. */
export async function bulkWithRoom(session: Session, room: Room, limits: Limits): Promise<number> {
  if (!session.addMany) return addWithRoom(session, room, limits)
  const deadline = performance.now() + limits.seconds * 1_000
  let next = 0
  const lane = async (): Promise<void> => {
    while (next + bulkSize <= limits.jobs && performance.now() < deadline) {
      if (!room.enter(bulkSize)) {
        await room.next()
        continue
      }
      const first = next
      next += bulkSize
      const numbers = Array.from({ length: bulkSize }, (_, index) => first + index)
      await session.addMany!(numbers.map((n) => ({ id: idOf(n), payload: payloadOf(n) })))
    }
  }
  await Promise.all(Array.from({ length: bulksInFlight }, lane))
  return next
}

/** So many at a time; whoever finds none waits for one to leave. */
export class Room {
  #left: number
  #waiting: (() => void)[] = []

  constructor(size: number) {
    this.#left = size
  }

  /** All of them, or none. */
  enter(count = 1): boolean {
    if (this.#left < count) return false
    this.#left -= count
    return true
  }

  leave(count = 1): void {
    this.#left += count
    for (const wake of this.#waiting.splice(0, count)) wake()
  }

  next(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve))
  }
}
