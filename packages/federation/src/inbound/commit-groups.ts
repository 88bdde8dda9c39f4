// Lets messages that arrive together share a commit, and so one sync of the disk: the first of them waits for those that are being decrypted
// and verified. A message that is alone waits for nothing.

import type { Clock } from 'holdfast'

/** Longest wait, in passes of the event loop. A pass has two turns of cryptography (loop-turns.ts), so it is some milliseconds. */
const mostPasses = 8

/** A message on its way to its commit. */
export interface Coming {
  /** Resolves when it may commit. */
  ready(): Promise<void>
  /** From now on others do not wait for it: it was refused, or it waits for the app. */
  leave(): void
  /** The app has decided. */
  comeBack(): void
}

export class CommitGroups {
  readonly #clock: Clock
  #coming = 0
  #waiting: (() => void)[] = []
  /** Changes with each group. */
  #group = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Messages that others wait for. */
  get coming(): number {
    return this.#coming
  }

  join(): Coming {
    let isCounted = false
    const comeBack = (): void => {
      if (!isCounted) this.#coming++
      isCounted = true
    }
    const uncount = (): void => {
      if (isCounted) this.#coming--
      isCounted = false
    }
    comeBack()
    return {
      comeBack,
      ready: () => {
        uncount()
        return new Promise((resolve) => {
          this.#waiting.push(resolve)
          if (this.#coming === 0) this.#start()
          else if (this.#waiting.length === 1) this.#startAfter(mostPasses, this.#group)
        })
      },
      leave: () => {
        uncount()
        // It may come back at once, when the app need not wait for anything.
        if (this.#coming === 0 && this.#waiting.length > 0) this.#startUnlessComing(this.#group)
      },
    }
  }

  #startAfter(passes: number, group: number): void {
    this.#clock.soon(() => {
      if (group !== this.#group) return
      if (passes === 1) this.#start()
      else this.#startAfter(passes - 1, group)
    })
  }

  #startUnlessComing(group: number): void {
    this.#clock.soon(() => {
      if (group === this.#group && this.#coming === 0) this.#start()
    })
  }

  #start(): void {
    this.#group++
    for (const resolve of this.#waiting.splice(0)) resolve()
  }
}
