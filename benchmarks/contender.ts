// The contract of a contender. Each contender is one small file in contenders/ and is found by its presence.

import { readdirSync } from 'node:fs'
import type { Storage } from 'holdfast'
import type { Limited } from './limits/limited.ts'
import type { Payload } from './load.ts'

export interface Contender {
  /** Short name, as in the tables. */
  readonly name: string
  readonly driver: string
  /** The package on the registry, for its version. */
  readonly package: string
  /** A peer runs with --peers only, and its package is imported in setup(), not before. */
  readonly isPeer: boolean
  /** Not a product, but the moves of Holdfast on the raw client: what the backend allows. Its peers are not compared with it. @default false */
  readonly isLimit?: boolean
  /** A limit that hands jobs over to idle workers: one without that looks for jobs again and again, so has no latency to compare with. @default false */
  readonly handsOver?: boolean
  /** The only cases it takes part in. @default all that it supports */
  readonly cases?: readonly string[]
  /** Its configuration and the differences from its defaults, printed with the results. */
  readonly configuration: string
  /** What an accepted job survives; undefined: nothing. Ratios are to peers of the same durability. */
  readonly durability?: Durability
  /** Whether processes can share a place: cases that add and work at once then use two. */
  readonly isShared: boolean
  /** Why the contender cannot run; undefined: it can. */
  unavailable?(): string | undefined
  /** @param place an empty directory, or one that another process has set up */
  setup(settings: Settings, place: string): Promise<Session>
  /** Holdfast only: the driver, for cases that measure the storage contract. */
  openStorage?(place: string): Promise<Storage>
  /** Peers only: the limits that it keeps over all processes, for the case limits. */
  readonly limited?: Limited
}

/** What an accepted job survives. full: a power cut. relaxed: the end of every process. */
export type Durability = 'full' | 'relaxed'

/** A contender found in contenders/. */
export interface Entrant extends Contender {
  readonly file: string
}

/** Settings that are the same for all contenders. */
export interface Settings {
  /** Retention of a job's result, ms. */
  readonly resultTtlMs: number
  /** The longest sleep of an idle worker, s. */
  readonly pollSeconds: number
  readonly leaseMs: number
  /** Count the calls to the storage. Counting costs time, so only where calls are measured. */
  readonly countCalls: boolean
}

/** Defaults that Holdfast and the peers share, where there are any. */
export const usualSettings: Settings = { resultTtlMs: 3_600_000, pollSeconds: 5, leaseMs: 30_000, countCalls: false }

export interface Session {
  /** Resolves when the contender's own call does: the job is accepted. Rejects if it is not. */
  add(id: string, payload: Payload): Promise<void>
  /** The bulk call, if there is one. */
  addMany?(jobs: readonly { readonly id: string; readonly payload: Payload }[]): Promise<void>
  /** Adds a job and waits for its result. */
  request?(id: string, payload: Payload): Promise<unknown>
  /** Before a filled queue is drained, and not measured: a contender that decides by statistics gets them, as after some seconds of work. */
  prepare?(concurrency: number): Promise<void>
  /** Starts a worker with a no-op handler; may be called again for another worker. */
  consume(concurrency: number, watch: Watch): Promise<void>
  /** Resolves when all expired data is deleted. */
  sweep(): Promise<void>
  /** Bytes in the storage. undefined: the storage is the heap of this process. */
  storedBytes?(): Promise<number>
  /** Postgres only: another session opens an idle transaction. Resolves with a function that ends it. */
  hold?(): Promise<() => Promise<void>>
  /** Postgres only: the number of dead rows. */
  deadRows?(): Promise<number>
  /** Calls to the storage by name, if settings.countCalls. */
  calls(): Calls | Promise<Calls>
  close(): Promise<void>
}

export type Calls = Readonly<Record<string, number>>

export interface Watch {
  /** Called first in the handler. */
  onStart(payload: Payload): void
  /** Called when the contender reports that the completion is recorded. */
  onCompleted(): void
}

/** The result of every handler, for contenders that store results. */
export const handlerResult = true

/** All contenders, Holdfast first. */
export async function allContenders(): Promise<Entrant[]> {
  const files = readdirSync(new URL('contenders/', import.meta.url)).filter((file) => file.endsWith('.ts'))
  const names = files.map((file) => file.slice(0, -'.ts'.length)).toSorted()
  const contenders = await Promise.all(names.map((name) => contenderIn(`${name}.ts`)))
  return contenders.toSorted((a, b) => Number(a.isPeer) - Number(b.isPeer))
}

export async function contenderIn(file: string): Promise<Entrant> {
  const module = (await import(new URL(`contenders/${file}`, import.meta.url).href)) as { contender: Contender }
  return { ...module.contender, file }
}
