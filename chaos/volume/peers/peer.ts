// A peer: another library under the same faults. It is installed in benchmarks/, from the lock file there, and never a dependency of the root.

import { createRequire } from 'node:module'
import type { VolumeRecord } from '../volume-history.ts'
import type { VolumePayload } from '../volume-jobs.ts'

interface PeerJob {
  readonly job: number
  readonly payload: VolumePayload
}

export interface PeerRun extends PeerJob {
  /** By the count of the peer, from 1 on. */
  readonly attempt: number
}

export interface PeerPlace {
  /** Once, before the first process. */
  setUp(): Promise<void>
  /** All of them, or those that are not there yet. */
  add(jobs: readonly PeerJob[]): Promise<void>
  waiting(): Promise<number>
  /** Jobs that have not ended. */
  live(): Promise<number>
  /**
   * @param run resolves with the result; rejects for another attempt
   * @param completed the worker was told that the completion is recorded. Never called by a peer that does not say so
   */
  consume(slots: number, run: (run: PeerRun) => Promise<number>, completed: (run: PeerRun) => void): Promise<void>
  records(): AsyncIterable<VolumeRecord>
  close(): Promise<void>
}

export interface PeerSettings {
  readonly url: string
  readonly leaseMs: number
  readonly attempts: number
  readonly backoffMs: number
  /** Imports a package of benchmarks/. */
  load(name: string): Promise<any>
  onError(error: Error): void
}

export interface Peer {
  readonly package: string
  /** The driver whose server it uses. */
  readonly driver: 'redis' | 'postgres'
  /** Whether a worker is told that its completion is recorded. If not, no run can see that one was recorded twice. */
  readonly tellsCompletion: boolean
  /** For the report: what its documentation advises for reliability, and what the rig needs. */
  configuration(leaseMs: number): string
  open(settings: PeerSettings): PeerPlace
}

/** @param folder benchmarks/ */
export const loaderOf = (folder: string) => {
  const { resolve } = createRequire(`${folder}/package.json`)
  return (name: string): Promise<any> => import(resolve(name))
}
