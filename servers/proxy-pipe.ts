// One direction of one connection through the proxy: bytes in, the same bytes out, later or not at all, never out of order.

import type { Socket } from 'node:net'

export interface ProxyPipeRules {
  delayMs(): number
  /** Bytes are lost; an end is passed on. */
  swallows(): boolean
  /** Bytes are lost, and an end is not passed on either. */
  silent(): boolean
  onPassed(bytes: number): void
  onDropped(bytes: number): void
}

interface Delayed {
  readonly at: number
  /** Absent: the end. */
  readonly chunk: Buffer | undefined
}

export class ProxyPipe {
  readonly #from: Socket
  readonly #to: Socket
  readonly #rules: ProxyPipeRules
  readonly #queue: Delayed[] = []
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

  /** Asked here, not when it came: what was under way when the line fell silent is lost, too. */
  #pass(chunk: Buffer | undefined): void {
    if (this.#stopped || this.#to.destroyed) return
    if (chunk === undefined) {
      if (!this.#rules.silent()) this.#to.end()
    } else if (this.#rules.silent() || this.#rules.swallows() || this.#to.writableEnded)
      this.#rules.onDropped(chunk.length)
    else {
      this.#rules.onPassed(chunk.length)
      if (!this.#to.write(chunk)) this.#from.pause()
    }
  }
}
