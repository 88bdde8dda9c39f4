// A TCP proxy on the loopback interface that simulates network faults: cut, refuse, delay, silence.
// The faults can change at any time and apply to open connections too.

import { connect, createServer, type Server, type Socket } from 'node:net'
import { freePort } from './port.ts'
import { ProxyPipe } from './proxy-pipe.ts'

export interface ProxyCounts {
  /** Connections accepted so far. */
  readonly connections: number
  /** Connections open now. */
  readonly open: number
  /** Bytes passed on. */
  readonly toServer: number
  readonly toClient: number
  /** Bytes dropped. */
  readonly dropped: number
}

interface Pair {
  readonly client: Socket
  readonly server: Socket
  readonly pipes: readonly ProxyPipe[]
  /** One side closed during the silence: the other is closed when the silence ends. */
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
  #swallowing: (chunk: Buffer) => boolean = () => false
  #filterOf: () => (chunk: Buffer) => Buffer = () => (chunk) => chunk

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

  /** Resets all connections on both sides. New ones are accepted. */
  cut(): void {
    for (const pair of this.#pairs) this.#destroy(pair)
  }

  /** Ends the server's side towards all clients; their bytes still reach the server. New connections are accepted. */
  halfClose(): void {
    for (const { client } of this.#pairs) client.end()
  }

  /** While on, a new connection gets ECONNREFUSED; open ones stay. */
  async refuse(on: boolean): Promise<void> {
    if (on) {
      this.#listener?.close()
      this.#listener = undefined
    } else if (!this.#listener) await this.#listen()
  }

  /** While on, requests reach the server and its replies are dropped: all, or those for which a function returns true. */
  swallowReplies(on: boolean | ((chunk: Buffer) => boolean)): void {
    this.#swallowing = typeof on === 'boolean' ? () => on : on
  }

  /**
   * Replies on connections that are accepted from now on go through a filter, which answers with what is passed on.
   *
   * @param filterOf makes the filter of a connection, which may keep the rest of a message for the next chunk
   */
  filterReplies(filterOf: () => (chunk: Buffer) => Buffer): void {
    this.#filterOf = filterOf
  }

  /** Delays bytes that arrive from now on by this many ms, in both directions and in order. */
  delay(ms: number): void {
    this.#delayMs = ms
  }

  /** While on, bytes of both directions are dropped and no end is passed on: both sides see an open, silent connection. */
  halfOpen(on: boolean): void {
    this.#silent = on
    if (on) return
    for (const pair of this.#pairs) if (pair.closed) this.#destroy(pair)
  }

  /** New connections go to this port; open ones stay. */
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
        keeps: (chunk) => chunk,
        onPassed: (bytes) => (this.#passed.toServer += bytes),
      }),
      new ProxyPipe(server, client, {
        ...rules,
        swallows: (chunk) => this.#swallowing(chunk),
        keeps: this.#filterOf(),
        onPassed: (bytes) => (this.#passed.toClient += bytes),
      }),
    ]
    const pair: Pair = { client, server, pipes, closed: false }
    this.#pairs.add(pair)
    for (const socket of [client, server]) {
      // A close event follows and is handled.
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

/** Starts a proxy in front of a port of 127.0.0.1. */
export const startProxy = (targetPort: number): Promise<Proxy> => Proxy.start(targetPort)
