// A case is data: a name, the features it needs, the requirements it proves, and a function that runs it on an empty storage.

import type { Bytes, ClaimedJob, ClaimRequest, NewJob, Storage, StorageFeatures } from 'holdfast/storage'

export interface Case {
  /** A sentence that states what holds. */
  readonly name: string
  /** Features without which the case is skipped. @default [] */
  readonly needs?: readonly (keyof StorageFeatures)[]
  /** Ids of the requirements that the case shows, such as 'F25' or 'S7': rows of docs/requirements.md. @default [] */
  readonly proves?: readonly string[]
  run(context: CaseContext): Promise<void>
}

/** What `create` returns for each case: an empty storage and the means to move its time. */
export interface Subject {
  readonly storage: Storage
  /** Moves the storage's clock. @default waits in real time; then leases and delays are multiples of 50 ms */
  readonly advance?: (ms: number) => Promise<void>
  /** Returns a connected second handle on the same data, as another process has it. @default the same handle */
  readonly another?: () => Promise<Storage>
  readonly close?: () => Promise<void>
}

export interface CaseContext {
  readonly storage: Storage
  /** Ms. Leases and delays are multiples of it: 1,000 with `advance`, 50 in real time. */
  readonly unit: number
  advance(ms: number): Promise<void>
  another(): Promise<Storage>
  /** The storage's time, epoch ms. */
  now(): Promise<number>
  /** A job of type 'mail' with a new id and token, unless given, and defaults. */
  job(fields?: Partial<NewJob>): NewJob
  /** Adds such a job and returns it. */
  added(fields?: Partial<NewJob>): Promise<NewJob>
  /** Claims jobs of type 'mail', unless given, as a new worker with 100 slots and leases of 10 units. */
  claim(fields?: Partial<ClaimRequest>): Promise<ClaimedJob[]>
  /** Claims exactly one job, or fails. */
  claimOne(fields?: Partial<ClaimRequest>): Promise<ClaimedJob>
  claimRequest(fields?: Partial<ClaimRequest>): ClaimRequest
  /** Waits up to 5 s in real time until the condition is true: for hints. */
  until(condition: () => boolean): Promise<void>
}

export const bytes = (text: string): Bytes => new TextEncoder().encode(text)
export const text = (value: Bytes | undefined): string | undefined =>
  value === undefined ? undefined : new TextDecoder().decode(value)
