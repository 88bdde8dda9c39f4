// A case is data: a name, what it needs of the driver, what it proves, and a function that runs it on an empty storage.

import type { Bytes, ClaimedJob, ClaimRequest, NewJob, Storage, StorageFeatures } from 'holdfast/storage'

export interface Case {
  /** Reads as a sentence: what holds. */
  readonly name: string
  /** Features without which the case is skipped, with that reason. @default [] */
  readonly needs?: readonly (keyof StorageFeatures)[]
  /** Numbers of the promises it carries, such as 'F25' or 'S7'. @default [] */
  readonly proves?: readonly string[]
  run(context: CaseContext): Promise<void>
}

/** What the suite is given for each case: an empty storage, and a way to let its time pass. */
export interface Subject {
  readonly storage: Storage
  /** Moves the storage's clock. Absent: real time is waited for, in short leases. */
  readonly advance?: (ms: number) => Promise<void>
  /** Another handle on the same data, as another process has it. */
  readonly another?: () => Promise<Storage>
  readonly close?: () => Promise<void>
}

export interface CaseContext {
  readonly storage: Storage
  /** A span of time that is long for this driver: leases and delays are multiples of it. */
  readonly unit: number
  advance(ms: number): Promise<void>
  another(): Promise<Storage>
  /** The storage's time, as far as the contract tells it. */
  now(): Promise<number>
  /** A job with everything at its default; type 'mail', a new id and token unless given. */
  job(fields?: Partial<NewJob>): NewJob
  /** Adds one such job and answers with it. */
  added(fields?: Partial<NewJob>): Promise<NewJob>
  /** Claims of type 'mail' unless told otherwise; a new worker each time; 100 slots; leases of 10 units. */
  claim(fields?: Partial<ClaimRequest>): Promise<ClaimedJob[]>
  /** Claims exactly one, or fails. */
  claimOne(fields?: Partial<ClaimRequest>): Promise<ClaimedJob>
  claimRequest(fields?: Partial<ClaimRequest>): ClaimRequest
  /** Waits, in real time, until it is true: for hints. */
  until(condition: () => boolean): Promise<void>
}

export const bytes = (text: string): Bytes => new TextEncoder().encode(text)
export const text = (value: Bytes | undefined): string | undefined =>
  value === undefined ? undefined : new TextDecoder().decode(value)
