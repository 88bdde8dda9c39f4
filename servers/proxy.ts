// A TCP proxy on the loopback interface that does to connections what networks do: cut, refuse, delay, fall silent.
// What it does can change at any time and holds for the connections that are open, too.

import { connect, createServer, type Server, type Socket } from 'node:net'
import { freePort } from './port.ts'
import { ProxyPipe } from './proxy-pipe.ts'

export interface ProxyCounts {
  /** Accepted so far. */
  readonly connections: number
  /** Open now. */
  readonly open: number
  /** Bytes that were passed on. */
  readonly toServer: number
  readonly toClient: number
  /** Bytes that were swallowed. */
  readonly dropped: number
}

interface Pair {
  readonly client: Socket
  readonly server: Socket
  readonly pipes: readonly ProxyPipe[]
  /** One side closed while all was silent: the other is told when the silence ends. */
  closed: boolean
}

const portTries = 5

export class Proxy {
  readonly #pairs = new Set<Pair>()
  readonly #passed = { toServer: 0, toClient: 0 }
  #port = 0
  #target: number
  #listener: Server | undefined
  #connections = 0
  #dropped = 0
  #delayMs = 0
  #silent = false
  #swallowing = false

  private constructor(target: number) {
    this.#target = target
  }

  /** @internal use `startProxy` */
  static async start(target: number): Promise<Proxy> {
    const proxy = new Proxy(target)
    for (let left = portTries; ; left--) {
      proxy.#port = await freePort()
      try {
        await proxy.#listen()
        return proxy
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE' || left === 1) throw error
      }
    }
  }

  get port(): number {
    return this.#port
  }

  get counts(): ProxyCounts {
    return { connections: this.#connections, open: this.#pairs.size, ...this.#passed, dropped: this.#dropped }
  }

  /** Ends all connections now, by a reset, on both sides. New ones are accepted. */
  cut(): void {
    for (const pair of this.#pairs) this.#destroy(pair)
  }

  /** Tells the clients that the server has ended its side; what they still send reaches it. New ones are accepted. */
  halfClose(): void {
    for (const { client } of this.#pairs) client.end()
  }

  /** While on, a new connection gets ECONNREFUSED; those that are open stay. */
  async refuse(on: boolean): Promise<void> {
    if (on) {
      this.#listener?.close()
      this.#listener = undefined
    } else if (!this.#listener) await this.#listen()
  }

  /** While on, requests reach the server and its replies do not come back. What is swallowed is lost. */
  swallowReplies(on: boolean): void {
    this.#swallowing = on
  }

  /** What arrives from now on is passed on this much later, in both directions and in order. */
  delay(ms: number): void {
    this.#delayMs = ms
  }

  /** While on, both directions are dropped and no end is passed on: both sides see an open connection and silence. */
  halfOpen(on: boolean): void {
    this.#silent = on
    if (on) return
    for (const pair of this.#pairs) if (pair.closed) this.#destroy(pair)
  }

  /** New connections go to this port; those that are open stay where they are. */
  retarget(port: number): void {
    this.#target = port
  }

  async stop(): Promise<void> {
    await this.refuse(true)
    this.cut()
  }

  #listen(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const listener = createServer({ allowHalfOpen: true, noDelay: true }, (client) => this.#accept(client))
    listener.once('error', reject)
    listener.listen(this.#port, '127.0.0.1', () => {
      this.#listener = listener
      resolve()
    })
    return promise
  }

  #accept(client: Socket): void {
    this.#connections++
    const server = connect({ host: '127.0.0.1', port: this.#target, allowHalfOpen: true, noDelay: true })
    const rules = {
      delayMs: () => this.#delayMs,
      silent: () => this.#silent,
      onDropped: (bytes: number) => (this.#dropped += bytes),
    }
    const pipes = [
      new ProxyPipe(client, server, {
        ...rules,
        swallows: () => false,
        onPassed: (bytes) => (this.#passed.toServer += bytes),
      }),
      new ProxyPipe(server, client, {
        ...rules,
        swallows: () => this.#swallowing,
        onPassed: (bytes) => (this.#passed.toClient += bytes),
      }),
    ]
    const pair: Pair = { client, server, pipes, closed: false }
    this.#pairs.add(pair)
    for (const socket of [client, server]) {
      // A close follows, and says all there is to say.
      socket.on('error', () => {})
      socket.on('end', () => this.#ended(pair))
      socket.on('close', () => this.#closed(pair))
    }
  }

  #ended(pair: Pair): void {
    if (this.#silent) pair.closed = true
  }

  #closed(pair: Pair): void {
    if (this.#silent) pair.closed = true
    else if (pair.client.errored || pair.server.errored || (pair.client.closed && pair.server.closed))
      this.#destroy(pair)
  }

  #destroy(pair: Pair): void {
    this.#pairs.delete(pair)
    for (const pipe of pair.pipes) pipe.stop()
    for (const socket of [pair.client, pair.server]) socket.resetAndDestroy()
  }
}

/** In front of a port of 127.0.0.1. */
export const startProxy = (targetPort: number): Promise<Proxy> => Proxy.start(targetPort)
