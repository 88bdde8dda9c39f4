// Adds jobs within a limit of accepted and not completed ones.

import type { Session } from './contender.ts'
import { idOf, type Limits, payloadOf } from './load.ts'

const addsInFlight = 100
/** Jobs per bulk call, and concurrent bulk calls. */
const [bulkSize, bulksInFlight] = [100, 4]

/** Adds single jobs with concurrent calls. Resolves with the number of jobs. */
export async function addWithRoom(
  session: Session,
  room: Room,
  { jobs, seconds }: Limits,
  inFlight = addsInFlight,
): Promise<number> {
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
  await Promise.all(Array.from({ length: inFlight }, lane))
  return next
}

/** The same with bulk calls, if there are any. */
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

/** A counting semaphore: at most this many at a time; further callers wait. */
export class Room {
  #left: number
  #waiting: (() => void)[] = []

  constructor(size: number) {
    this.#left = size
  }

  /** Takes all of them or none. */
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
