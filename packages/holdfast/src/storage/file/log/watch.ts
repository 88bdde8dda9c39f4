// Notices commits of other processes: by a watch on the folder of the log, or by polling where folders cannot be watched.

import { join } from 'node:path'
import type { Clock, Timer } from '../../../clock.ts'
import type { Log } from './log.ts'

/** Poll interval in ms where folders cannot be watched. */
const pollMs = 250

export class Watch {
  readonly #log: Log
  readonly #clock: Clock
  readonly #look: () => Promise<void>
  #folder: string | undefined
  #stop: (() => void) | undefined
  #started = false
  #looking = false
  #again = false

  constructor(log: Log, clock: Clock, look: () => Promise<void>) {
    this.#log = log
    this.#clock = clock
    this.#look = look
  }

  start(): void {
    this.#started = true
    this.follow()
  }

  /** Watches the current folder of the log, which may have changed. */
  follow(): void {
    const { folder } = this.#log.position
    if (!this.#started || this.#folder === folder) return
    this.#stop?.()
    this.#folder = folder
    const { disk, paths } = this.#log
    this.#stop = disk.watch(join(paths.log, folder), () => this.#onChange()) ?? this.#poll()
  }

  stop(): void {
    this.#started = false
    this.#stop?.()
    this.#stop = undefined
    this.#folder = undefined
  }

  #poll(): () => void {
    let timer: Timer
    const arm = (): void => {
      timer = this.#clock.after(
        pollMs,
        () => {
          this.#onChange()
          arm()
        },
        { keepsAlive: false },
      )
    }
    arm()
    return () => timer.cancel()
  }

  #onChange(): void {
    // A commit of this process is no news.
    if (!this.#started || !this.#log.hasNext()) return
    this.#again = true
    if (this.#looking) return
    this.#looking = true
    void this.#lookOn()
  }

  async #lookOn(): Promise<void> {
    while (this.#again) {
      this.#again = false
      // The next call reports the error.
      await this.#look().catch(() => {})
    }
    this.#looking = false
  }
}
