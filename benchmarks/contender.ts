// What the cases ask of whoever takes part. One small file in contenders/ for each, found by being there.

import { readdirSync } from 'node:fs'
import type { Storage } from 'holdfast'
import type { Payload } from './load.ts'

export interface Contender {
  /** Short, as in the tables. */
  readonly name: string
  readonly driver: string
  /** The package on the registry, for its version. */
  readonly package: string
  /** A peer takes part with --peers only, and its package is imported in setup(), not before. */
  readonly isPeer: boolean
  /** How it is set up, and where that differs from its defaults: printed with the results. */
  readonly configuration: string
  /** What an accepted job survives, if more than nothing. Ratios are to peers that promise as much. */
  readonly durability?: Durability
  /** Processes can share a place: what is about adding and working at once then takes two of them. */
  readonly isShared: boolean
  /** Why it cannot take part, if so. */
  unavailable?(): string | undefined
  /** @param place an empty directory, or one that another process has set up */
  setup(settings: Settings, place: string): Promise<Session>
  /** Ours only: the driver below the queue, for what is measured through the storage contract. */
  openStorage?(place: string): Promise<Storage>
}

/** full: a power cut. relaxed: the end of every process. */
export type Durability = 'full' | 'relaxed'

/** One that was found in contenders/. */
export interface Entrant extends Contender {
  readonly file: string
}

/** The same for all. */
export interface Settings {
  /** How long what a job left is kept after its end. */
  readonly resultTtlMs: number
  /** The longest sleep of an idle worker. */
  readonly pollSeconds: number
  readonly leaseMs: number
  /** Count the calls to the storage. It costs time, so only where calls are what is measured. */
  readonly countCalls: boolean
}

/** Where a peer and we share a default, it is that one. */
export const usualSettings: Settings = { resultTtlMs: 3_600_000, pollSeconds: 5, leaseMs: 30_000, countCalls: false }

export interface Session {
  /** Resolves once the job is accepted, as the contender's own call does. Rejects if it is not. */
  add(id: string, payload: Payload): Promise<void>
  /** The bulk call, where there is one. */
  addMany?(jobs: readonly { readonly id: string; readonly payload: Payload }[]): Promise<void>
  /** Adds a job and waits for its result. */
  request?(id: string, payload: Payload): Promise<unknown>
  /** Starts a worker with a no-op handler; may be called again for another one. */
  consume(concurrency: number, watch: Watch): Promise<void>
  /** What has expired is gone once it resolves. */
  sweep(): Promise<void>
  /** Bytes in the storage. Absent: the storage is the heap of this process. */
  storedBytes?(): Promise<number>
  /** Postgres only: another session begins a transaction, which then does nothing. Resolves with the way to end it. */
  hold?(): Promise<() => Promise<void>>
  /** Postgres only: rows that nobody can see any more, and that are still there. */
  deadRows?(): Promise<number>
  /** Calls to the storage by name, if settings.countCalls. */
  calls(): Calls | Promise<Calls>
  close(): Promise<void>
}

export type Calls = Readonly<Record<string, number>>

export interface Watch {
  /** First thing in the handler. */
  onStart(payload: Payload): void
  /** The completion is recorded: the contender said so itself. */
  onCompleted(): void
}

/** What the handlers return: one that stores results cannot do without. */
export const handlerResult = true

/** Ours first. */
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
