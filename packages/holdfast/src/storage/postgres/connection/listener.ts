// The one connection on which all who listen are told, made when the first listens and closed with the last. It comes back
// by itself, listens again, and then says that something may have been missed.

import type { Timer } from '../../../clock.ts'
import { ask, type Bounds } from './bounded.ts'
import type { Statement } from './database.ts'
import { notConnected } from './errors.ts'
import type { Wire, Wires } from './wire.ts'

interface Heard {
  readonly channel: string
  readonly onMessage: (payload: string) => void
  readonly onGap: () => void
}

interface ListenerOptions extends Bounds {
  readonly listen: boolean
  readonly listenUrl?: string
}

/** Between two tries to connect, in ms: doubled each time, and jittered. */
const [shortestPauseMs, longestPauseMs] = [50, 5_000]
/** Between two questions whether the server is still there, in ms: a half-open connection looks like a quiet one. */
const checkMs = 5_000
const stillThere: Statement = { name: '', text: 'SELECT 1' }

export class Listener {
  readonly #wires: Wires
  readonly #options: ListenerOptions
  readonly #heard = new Map<string, Set<Heard>>()
  /** On the wire at hand. */
  #channels = new Set<string>()
  #wire: Wire | undefined
  /** Statements go one after the other. */
  #last: Promise<unknown> = Promise.resolve()
  #tries = 0
  #timer: Timer | undefined
  #isClosed = false

  constructor(wires: Wires, options: ListenerOptions) {
    this.#wires = wires
    this.#options = options
  }

  async listen(heard: Heard): Promise<() => Promise<void>> {
    if (!this.#options.listen) return async () => {}
    const all = this.#heard.get(heard.channel) ?? new Set()
    this.#heard.set(heard.channel, all.add(heard))
    try {
      await this.#inTurn(() => this.#ready())
    } catch (error) {
      this.#forget(heard)
      throw notConnected(this.#wires.where, error)
    }
    return async () => {
      this.#forget(heard)
      // Whatever goes wrong now, a connection that is lost has lost its channels, too.
      await this.#inTurn(() => this.#ready()).catch(() => {})
    }
  }

  close(): void {
    this.#isClosed = true
    this.#heard.clear()
    this.#drop()
  }

  #forget(heard: Heard): void {
    const all = this.#heard.get(heard.channel)
    all?.delete(heard)
    if (all?.size === 0) this.#heard.delete(heard.channel)
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#last.then(work)
    this.#last = done.catch(() => {})
    return done
  }

  /** Connected, and listening to what is to be heard; or neither. */
  async #ready(): Promise<void> {
    if (this.#heard.size === 0) return this.#drop()
    if (this.#isClosed) throw new Error('the storage is closed')
    const wire = this.#wire ?? (await this.#connect())
    const gone = [...this.#channels].filter((channel) => !this.#heard.has(channel))
    const missing = [...this.#heard.keys()].filter((channel) => !this.#channels.has(channel))
    const words = [...gone.map((channel) => `UNLISTEN ${quoted(channel)}`), ...missing.map(listenTo)]
    if (words.length === 0) return
    try {
      await ask(wire, { name: '', text: words.join('; ') }, [], this.#options, false)
    } catch (error) {
      wire.discard()
      throw error
    }
    this.#channels = new Set([...this.#channels, ...missing].filter((channel) => !gone.includes(channel)))
  }

  async #connect(): Promise<Wire> {
    let wire: Wire | undefined
    wire = await this.#wires.open(this.#options.listenUrl, {
      onMessage: (channel, payload) => {
        for (const { onMessage } of this.#heard.get(channel) ?? []) onMessage(payload)
      },
      // One that never came about is lost, too.
      onLost: () => wire && this.#onLost(wire),
    })
    // Lost or closed before anybody could hear of it.
    if (wire.isLost || this.#isClosed) {
      wire.discard()
      throw new Error('the connection was lost')
    }
    this.#wire = wire
    this.#channels = new Set()
    this.#checkLater()
    return wire
  }

  #onLost(wire: Wire): void {
    if (this.#wire !== wire) return
    this.#wire = undefined
    this.#channels = new Set()
    this.#again()
  }

  #again(): void {
    this.#timer?.cancel()
    if (this.#isClosed || this.#heard.size === 0) return
    const { clock } = this.#options
    const pauseMs = Math.min(shortestPauseMs * 2 ** Math.min(this.#tries++, 10), longestPauseMs)
    this.#timer = clock.after(pauseMs * (0.5 + clock.random() / 2), () => {
      this.#inTurn(() => this.#ready()).then(
        () => this.#tellGap(),
        () => this.#wire ?? this.#again(),
      )
    })
  }

  #tellGap(): void {
    this.#tries = 0
    const all = [...this.#heard.values()].flatMap((heard) => [...heard])
    for (const { onGap } of all) onGap()
  }

  #checkLater(): void {
    this.#timer?.cancel()
    this.#timer = this.#options.clock.after(checkMs, () => this.#check(), { keepsAlive: false })
  }

  #check(): void {
    const wire = this.#wire
    if (!wire) return
    this.#inTurn(async () => {
      if (!wire.isLost) await ask(wire, stillThere, [], this.#options, false)
    }).then(
      () => this.#wire === wire && this.#checkLater(),
      () => wire.discard(),
    )
  }

  #drop(): void {
    this.#timer?.cancel()
    const wire = this.#wire
    this.#wire = undefined
    this.#channels = new Set()
    wire?.discard()
  }
}

const listenTo = (channel: string): string => `LISTEN ${quoted(channel)}`
const quoted = (channel: string): string => `"${channel.replaceAll('"', '""')}"`
