// Writes the files of one job: moves its entry to where it belongs now, and replaces its record, result and error.

import type { MemoryJob } from '../../memory/data.ts'
import type { FileWriter } from './file-writer.ts'
import { entriesOf, entryBytes, errorPath, recordBytes, recordPath, resultPath, seenOf } from './job-files.ts'
import type { Shown } from './pending-jobs.ts'

export interface JobWriterOptions {
  readonly files: FileWriter
  /** False while the disk is full and its last room is for commits. */
  hasRoom(): boolean
  /** A file was removed instead of written, for want of room. */
  onSkipped(): void
}

export class JobWriter {
  readonly #options: JobWriterOptions

  constructor(options: JobWriterOptions) {
    this.#options = options
  }

  /**
   * @param before what the disk may show
   * @param job the job as it is; undefined: it is gone
   * @param commit number of the commit that the record names
   */
  write(before: Shown, job: MemoryJob | undefined, commit: number): void {
    const { job: was, seen: old } = before
    const seen = job && seenOf(job)
    this.#moveEntry(before, job)
    this.#put(recordPath(was), job && recordBytes(job, commit))
    if (old?.result !== seen?.result) this.#put(resultPath(was), seen?.result)
    if (old?.error !== seen?.error) this.#put(errorPath(was), seen?.error)
  }

  #moveEntry({ job: was, seen: before }: Shown, job: MemoryJob | undefined): void {
    const { files } = this.#options
    const from = before ? entriesOf(was, before) : []
    const to = job && entriesOf(job, job)[0]
    const isSame = before?.payload === job?.payload && was.accepted === job?.accepted
    let isThere = false
    for (const path of from) {
      if (isSame && path === to) isThere = true
      else if (isSame && to !== undefined && !isThere) isThere = files.rename(path, to)
      else files.put(path, undefined)
    }
    if (to !== undefined && !isThere) this.#put(to, entryBytes(job!))
  }

  /** Without room the old file is removed: it would show an old state. The next repair writes it. */
  #put(path: string, bytes: Uint8Array | undefined): void {
    const { files, hasRoom, onSkipped } = this.#options
    if (bytes === undefined || hasRoom()) return files.put(path, bytes)
    onSkipped()
    files.put(path, undefined)
  }
}
