// Bounds the calls to a storage in time.

import type { Clock, Timer } from '../clock.ts'

/** A call that is not answered. */
export interface OpenCall {
  /** Local, monotonic ms. */
  readonly deadline: number
  isOver: boolean
  timer: Timer | undefined
  onTimeout(): void
}

/**
 * Bounds calls in time. A call gets its timer at the end of the tick in which it is sent: an embedded storage has answered by then,
 * and its calls need none.
 */
export class TimeLimits {
  readonly #clock: Clock
  #sent: OpenCall[] = []

  constructor(clock: Clock) {
    this.#clock = clock
  }

  add(call: OpenCall): void {
    if (!this.#clock.endOfTick) return this.#arm(call)
    if (this.#sent.push(call) === 1) this.#clock.endOfTick(this.#armAll)
  }

  readonly #armAll = (): void => {
    const sent = this.#sent
    this.#sent = []
    for (const call of sent) if (!call.isOver) this.#arm(call)
  }

  #arm(call: OpenCall): void {
    call.timer = this.#clock.after(call.deadline - this.#clock.monotonic(), () => call.onTimeout())
  }
}

/** @returns false if its time was over before */
export function endCall(call: OpenCall): boolean {
  if (call.isOver) return false
  call.isOver = true
  call.timer?.cancel()
  return true
}
