// Adds a kill point to the parts of a federation: its storage, its tables, its keyring and its connections. The code of the
// federation itself is unchanged.

import { createConnection, type Socket } from 'node:net'
import type { Connector, Keyring, Store } from '@holdfast/federation'
import type { Storage } from 'holdfast'
import type { Point, PointName } from './points.ts'

export interface Parts {
  readonly storage: Storage
  readonly store: Store
  readonly keyring: Keyring
}

export class Failpoint {
  readonly #point: Point | undefined
  readonly #onCrash: (point: Point) => void
  #passed = 0

  /** @param onCrash called right before the process kills itself */
  constructor(point: Point | undefined, onCrash: (point: Point) => void) {
    this.#point = point
    this.#onCrash = onCrash
  }

  /** Kills the process if this is its point, at its number. */
  pass(name: PointName): void {
    if (this.#point?.name !== name || ++this.#passed < this.#point.number) return
    this.#onCrash(this.#point)
    process.kill(process.pid, 'SIGKILL')
    // The signal may take a moment. Until then the process must do nothing.
    for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
  }

  /** Instruments the parts in place: a store that shares the storage's database compares the storage by identity. */
  instrument(
    { storage, store, keyring }: Parts,
    deliveries: string,
  ): { readonly connector: Connector; readonly keyring: Keyring } {
    after(storage, 'claim', ([request], claim) => {
      if (request.outcomes?.some(({ kind, type }) => kind === 'completed' && type === deliveries)) this.pass('complete')
      if (claim.jobs.some(({ type }) => type === deliveries)) this.pass('claim')
    })
    after(storage, 'settle', ([outcomes]) => {
      if (outcomes.some(({ kind, type }) => kind === 'completed' && type === deliveries)) this.pass('complete')
    })
    after(store.peers, 'pin', () => this.pass('pin'))
    after(store.follows, 'acknowledge', () => this.pass('ack'))
    return {
      connector: ({ address, port }) => this.#instrumentSocket(createConnection(port, address.address)),
      keyring: {
        current: (use) => keyring.current(use),
        byKid: (kid) => keyring.byKid(kid),
        sign: (...args) => (this.pass('seal'), keyring.sign(...args)),
        agree: (...args) => (this.pass('reply'), keyring.agree(...args)),
      },
    }
  }

  #instrumentSocket(socket: Socket): Socket {
    const write = socket.write.bind(socket) as (...args: unknown[]) => boolean
    socket.write = (...args: unknown[]) => {
      const hasRoom = write(...args)
      if (String(args[0]).startsWith('POST /api/')) this.pass('send')
      return hasRoom
    }
    return socket
  }
}

type Method = (...args: never[]) => Promise<unknown>

/** Replaces a method by one that calls the hook after its promise has resolved. */
export function after<T extends object, K extends keyof T>(
  target: T,
  name: K,
  hook: T[K] extends Method ? (args: Parameters<T[K]>, answer: Awaited<ReturnType<T[K]>>) => void : never,
): void {
  const call = (target[name] as Method).bind(target) as (...args: unknown[]) => Promise<unknown>
  const replaced = async (...args: unknown[]): Promise<unknown> => {
    const answer = await call(...args)
    ;(hook as unknown as (args: unknown[], answer: unknown) => void)(args, answer)
    return answer
  }
  Object.defineProperty(target, name, { value: replaced, configurable: true, writable: true })
}
