// One direction of one connection through the proxy: bytes are passed on in order, delayed or dropped.

import type { Socket } from 'node:net'

export interface ProxyPipeRules {
  delayMs(): number
  /** These bytes are dropped; an end is passed on. */
  swallows(chunk: Buffer): boolean
  /** What of these bytes is passed on; the rest is dropped. */
  keeps(chunk: Buffer): Buffer
  /** Bytes are dropped, and an end is not passed on. */
  silent(): boolean
  onPassed(bytes: number): void
  onDropped(bytes: number): void
}

interface DelayedChunk {
  readonly at: number
  /** undefined: the end of the stream. */
  readonly chunk: Buffer | undefined
}

export class ProxyPipe {
  readonly #from: Socket
  readonly #to: Socket
  readonly #rules: ProxyPipeRules
  readonly #queue: DelayedChunk[] = []
  #timer: NodeJS.Timeout | undefined
  #stopped = false

  constructor(from: Socket, to: Socket, rules: ProxyPipeRules) {
    this.#from = from
    this.#to = to
    this.#rules = rules
    from.on('data', (chunk: Buffer) => this.#take(chunk))
    from.on('end', () => this.#take(undefined))
    to.on('drain', () => from.resume())
  }

  stop(): void {
    this.#stopped = true
    clearTimeout(this.#timer)
    this.#queue.length = 0
  }

  #take(chunk: Buffer | undefined): void {
    const delayMs = this.#rules.delayMs()
    if (delayMs === 0 && this.#queue.length === 0) this.#pass(chunk)
    else {
      this.#queue.push({ at: performance.now() + delayMs, chunk })
      this.#arm()
    }
  }

  #arm(): void {
    const first = this.#queue[0]
    if (!first || this.#timer || this.#stopped) return
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined
        while (this.#queue[0] && this.#queue[0].at <= performance.now()) this.#pass(this.#queue.shift()!.chunk)
        this.#arm()
      },
      Math.ceil(first.at - performance.now()),
    )
  }

  /** The rules are read here, not on arrival: bytes in flight when the connection goes silent are dropped too. */
  #pass(chunk: Buffer | undefined): void {
    if (this.#stopped || this.#to.destroyed) return
    if (chunk === undefined) {
      if (!this.#rules.silent()) this.#to.end()
    } else if (this.#rules.silent() || this.#rules.swallows(chunk) || this.#to.writableEnded)
      this.#rules.onDropped(chunk.length)
    else {
      const kept = this.#rules.keeps(chunk)
      this.#rules.onPassed(kept.length)
      this.#rules.onDropped(chunk.length - kept.length)
      if (!this.#to.write(kept)) this.#from.pause()
    }
  }
}
