// What the file driver is told of a call on the data.

import type { MemoryJob, TypeData } from './data.ts'
import type { Group } from './group.ts'

/** For the file driver, which writes what a call did, or undoes it: called before each change. */
export interface Recorder {
  /** The rules read the job, and may change it. */
  seen(job: MemoryJob): void
  /** The job is about to change, or has changed since it was read. */
  changed(job: MemoryJob): void
  /** A job of this name is about to be created. */
  creates(type: string, id: string): void
  /** The holder of the key is about to change. */
  key(type: TypeData, key: string): void
  /** The state of the group is about to change. */
  group(group: Group): void
  /** The flow of the type is about to change. */
  flow(type: TypeData): void
}
