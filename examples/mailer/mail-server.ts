// A minimal SMTP server on the loopback address. It is busy at times, as real ones are.

import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { createInterface } from 'node:readline'

export interface MailServerOptions {
  /** File of the addresses whose mail was accepted, so that they are known after a restart. */
  file: string
  /** Whether this delivery is deferred ("try again later"). */
  isBusy: (to: string, delivery: number) => boolean
  /** Whether the mailbox does not exist. */
  isUnknown: (to: string) => boolean
  /** Whether this mail is accepted and lost. Shows that a lost mail is noticed. */
  loses?: (to: string) => boolean
}

export class MailServer {
  /** How often each address got its mail. */
  readonly received = new Map<string, number>()
  readonly #options: MailServerOptions
  readonly #server: Server
  readonly #tries = new Map<string, number>()

  constructor(options: MailServerOptions) {
    this.#options = options
    const taken = existsSync(options.file) ? readFileSync(options.file, 'utf8').split('\n') : []
    for (const to of taken) if (to) this.#count(to)
    this.#server = createServer((socket) => void this.#serve(socket).catch(() => socket.destroy()))
  }

  /** Returns the port. */
  async listen(): Promise<number> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    const address = this.#server.address()
    if (address === null || typeof address === 'string') throw new Error('the mail server has no port')
    return address.port
  }

  async close(): Promise<void> {
    await new Promise((resolve) => this.#server.close(resolve))
  }

  async #serve(socket: Socket): Promise<void> {
    const say = (line: string): void => void socket.write(`${line}\r\n`)
    let to = ''
    let inBody = false
    say('220 ready')
    for await (const line of createInterface({ input: socket })) {
      if (inBody) {
        if (line !== '.') continue
        inBody = false
        if (!this.#options.loses?.(to)) this.#take(to)
        say('250 taken')
      } else if (line.startsWith('RCPT TO:')) {
        to = line.slice('RCPT TO:<'.length, -1)
        say(this.#judge(to))
      } else if (line === 'DATA') {
        inBody = true
        say('354 go on')
      } else if (line === 'QUIT') {
        say('221 bye')
        socket.end()
      } else {
        say('250 ok')
      }
    }
  }

  #take(to: string): void {
    appendFileSync(this.#options.file, `${to}\n`)
    this.#count(to)
  }

  #count(to: string): void {
    this.received.set(to, (this.received.get(to) ?? 0) + 1)
  }

  #judge(to: string): string {
    const delivery = (this.#tries.get(to) ?? 0) + 1
    this.#tries.set(to, delivery)
    if (this.#options.isUnknown(to)) return '550 no such mailbox'
    return this.#options.isBusy(to, delivery) ? '451 busy, try again later' : '250 ok'
  }
}
