// Puts a kill point into the parts that a federation is made of: its storage, its tables, its keys and its connections. The
// federation itself knows nothing of it.

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
  readonly #crashing: (point: Point) => void
  #passed = 0

  /** @param crashing is told right before */
  constructor(point: Point | undefined, crashing: (point: Point) => void) {
    this.#point = point
    this.#crashing = crashing
  }

  /** Here it may end. */
  pass(name: PointName): void {
    if (this.#point?.name !== name || ++this.#passed < this.#point.number) return
    this.#crashing(this.#point)
    process.kill(process.pid, 'SIGKILL')
    // Not one step further.
    for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
  }

  /** In place: a store that shares the storage's database knows it by its identity. */
  into(
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
      connector: ({ address, port }) => this.#watched(createConnection(port, address.address)),
      keyring: {
        current: (use) => keyring.current(use),
        byKid: (kid) => keyring.byKid(kid),
        sign: (...args) => (this.pass('seal'), keyring.sign(...args)),
        agree: (...args) => (this.pass('reply'), keyring.agree(...args)),
      },
    }
  }

  #watched(socket: Socket): Socket {
    const write = socket.write.bind(socket) as (...args: unknown[]) => boolean
    socket.write = (...args: unknown[]) => {
      const isTaken = write(...args)
      if (String(args[0]).startsWith('POST /api/')) this.pass('send')
      return isTaken
    }
    return socket
  }
}

type Method = (...args: never[]) => Promise<unknown>

/** Calls the hook once the call has been answered. */
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
