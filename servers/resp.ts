// A small Redis client over a socket (RESP2), for commands of tests beside the client library under test: CONFIG,
// INFO, DEBUG, CLIENT KILL, MONITOR. Commands are pipelined; replies come in order.

import { connect, type Socket } from 'node:net'
import { type Reply, RespError, RespParser } from './resp-parser.ts'

export { type Reply, RespError }

export interface RespOptions {
  readonly password?: string
  /** Ms, for each reply; the connection has 5 s at least. @default 5000 */
  readonly timeoutMs?: number
}

interface PendingReply {
  readonly resolve: (reply: Reply) => void
  readonly reject: (error: Error) => void
  readonly timer: NodeJS.Timeout
}

export class RespClient {
  readonly #socket: Socket
  readonly #timeoutMs: number
  readonly #waiting: PendingReply[] = []
  readonly #parser = new RespParser()
  #failure: Error | undefined
  /** Called with replies that belong to no command: the lines of MONITOR, the messages of SUBSCRIBE. */
  onPush: (reply: Reply) => void = () => {}

  private constructor(socket: Socket, timeoutMs: number) {
    this.#socket = socket
    this.#timeoutMs = timeoutMs
    socket.on('data', (chunk) => this.#read(chunk))
    socket.on('error', (error) => this.#fail(error))
    socket.on('close', () => this.#fail(new Error('Redis: the server closed the connection')))
  }

  static async connect(port: number, { password, timeoutMs = 5000 }: RespOptions = {}): Promise<RespClient> {
    // Not the time for a reply: a test may give that little of it, and a busy machine takes its time to connect.
    const client = new RespClient(await connected(port, Math.max(timeoutMs, 5000)), timeoutMs)
    if (password !== undefined) {
      try {
        await client.send('AUTH', password)
      } catch (error) {
        client.close()
        throw error
      }
    }
    return client
  }

  /** @throws RespError when the server answers with an error; Error when the connection ends or the reply takes too long */
  send(...words: readonly (string | number | Uint8Array)[]): Promise<Reply> {
    const { promise, resolve, reject } = Promise.withResolvers<Reply>()
    if (this.#failure) {
      reject(this.#failure)
      return promise
    }
    const timer = setTimeout(() => {
      // Later replies could no longer be matched to their commands.
      this.#fail(new Error(`Redis: no reply to ${String(words[0])} within ${this.#timeoutMs} ms`))
    }, this.#timeoutMs)
    this.#waiting.push({ resolve, reject, timer })
    this.#socket.write(encode(words))
    return promise
  }

  close(): void {
    this.#fail(new Error('Redis: the connection was closed by its caller'))
  }

  #read(chunk: Uint8Array): void {
    for (const reply of this.#parser.take(chunk)) {
      const waiting = this.#waiting.shift()
      if (!waiting) {
        this.onPush(reply)
        continue
      }
      clearTimeout(waiting.timer)
      if (reply instanceof RespError) waiting.reject(reply)
      else waiting.resolve(reply)
    }
  }

  #fail(error: Error): void {
    this.#failure ??= error
    this.#socket.destroy()
    for (const { reject, timer } of this.#waiting.splice(0)) {
      clearTimeout(timer)
      reject(this.#failure)
    }
  }
}

/** The fields of a section of INFO or CLUSTER INFO. */
export function parseInfo(text: Reply): Map<string, string> {
  const fields = String(text)
    .split('\r\n')
    .filter((line) => line.includes(':') && !line.startsWith('#'))
    .map((line): [string, string] => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)])
  return new Map(fields)
}

/** How often each command ran since the start or the last CONFIG RESETSTAT: `get` → 3, also when called by a script. */
export async function commandCalls(client: RespClient): Promise<Map<string, number>> {
  const stats = parseInfo(await client.send('INFO', 'commandstats'))
  return new Map(
    [...stats].map(([name, value]) => [name.replace(/^cmdstat_/, ''), Number(/^calls=(\d+)/.exec(value)?.[1])]),
  )
}

function connected(port: number, timeoutMs: number): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>()
  const socket = connect({ host: '127.0.0.1', port, noDelay: true })
  const timer = setTimeout(
    () => socket.destroy(new Error(`Redis: no connection to port ${port} within ${timeoutMs} ms`)),
    timeoutMs,
  )
  socket.once('error', (error) => {
    clearTimeout(timer)
    reject(error)
  })
  socket.once('connect', () => {
    clearTimeout(timer)
    socket.removeAllListeners('error')
    resolve(socket)
  })
  return promise
}

function encode(words: readonly (string | number | Uint8Array)[]): Buffer {
  const parts = words.flatMap((word) => {
    const bytes = word instanceof Uint8Array ? word : Buffer.from(String(word))
    return [Buffer.from(`$${bytes.length}\r\n`), bytes, Buffer.from('\r\n')]
  })
  return Buffer.concat([Buffer.from(`*${words.length}\r\n`), ...parts])
}
