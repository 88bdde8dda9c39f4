// What is measured of a message queue. Handlers do nothing; messages are about 100 bytes of JSON.

import { median } from '../statistics.ts'
import type { MessageQueue } from 'holdfast/tasks'

const message = (number: number): object => ({ number, type: 'bench', text: 'x'.repeat(60) })

export const messages = (count: number): object[] => Array.from({ length: count }, (_, number) => message(number))

/** So many, so many at a time. */
export async function sendEach(queue: MessageQueue, count: number, inFlight: number): Promise<void> {
  let sent = 0
  const send = async (): Promise<void> => {
    while (sent < count) await queue.enqueue(message(sent++))
  }
  await Promise.all(Array.from({ length: inFlight }, send))
}

/** Messages per second. */
export async function enqueueRate(queue: MessageQueue, inFlight: number, seconds: number): Promise<number> {
  const began = performance.now()
  const deadline = began + 1_000 * seconds
  let sent = 0
  const send = async (): Promise<void> => {
    while (performance.now() < deadline) await queue.enqueue(message(sent++))
  }
  await Promise.all(Array.from({ length: inFlight }, send))
  return sent / ((performance.now() - began) / 1_000)
}

/** Messages per second, a hundred in a batch. */
export async function batchRate(queue: MessageQueue, seconds: number): Promise<number> {
  const began = performance.now()
  const deadline = began + 1_000 * seconds
  let sent = 0
  while (performance.now() < deadline) {
    await queue.enqueueMany!(Array.from({ length: 100 }, () => message(sent++)))
  }
  return sent / ((performance.now() - began) / 1_000)
}

export async function fill(queue: MessageQueue, count: number, options?: { orderingKey?: string }): Promise<void> {
  for (let left = count; left > 0; left -= 1_000) {
    await queue.enqueueMany!(
      Array.from({ length: Math.min(left, 1_000) }, (_, number) => message(number)),
      options,
    )
  }
}

/** From the first message on, at most so many and so long: messages per second. */
export async function handleRate(queue: MessageQueue, most: number, seconds: number): Promise<number> {
  const at: number[] = []
  const stop = new AbortController()
  // Some look for a first message only when their poll comes.
  const first = setTimeout(() => stop.abort(), 15_000)
  let timer: NodeJS.Timeout | undefined
  await queue.listen(
    () => {
      timer ??= setTimeout(() => stop.abort(), 1_000 * seconds)
      at.push(performance.now())
      if (at.length >= most) stop.abort()
    },
    { signal: stop.signal },
  )
  clearTimeout(first)
  clearTimeout(timer)
  return at.length < 2 ? NaN : (at.length - 1) / ((at.at(-1)! - at[0]!) / 1_000)
}

/** Ends when so many were handled. */
export async function handleSome(queue: MessageQueue, count: number): Promise<void> {
  const stop = new AbortController()
  let handled = 0
  await queue.listen(() => void (++handled === count && stop.abort()), { signal: stop.signal })
}

/** The median of one awaited enqueue, in ms. */
export async function enqueueMs(queue: MessageQueue, times: number): Promise<number> {
  const taken: number[] = []
  for (let number = 0; number < times; number++) {
    const began = performance.now()
    await queue.enqueue(message(number))
    taken.push(performance.now() - began)
  }
  return median(taken)
}
