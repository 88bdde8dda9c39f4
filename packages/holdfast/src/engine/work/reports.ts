// What running attempts report: progress and log lines. They gather with the attempt, and are sent with its next extend or with
// its outcome. Invariant: what was reported before an attempt ended is in the storage once its outcome is.

import { HoldfastError, invalidArgument } from '../../errors.ts'
import { logBytesKept, logLinesKept } from '../../storage/rules/job/codes.ts'
import type { Bytes, Report } from '../../storage/storage.ts'
import { encodeLine } from '../job/log-lines.ts'
import { encodeValue } from '../job/values.ts'
import type { Attempt } from './attempt.ts'

/** Largest progress after serialisation, in bytes. */
const maxProgressBytes = 4_096

/** @throws SerializationError with the path of what cannot be stored, TOO_LARGE, INVALID_ARGUMENT */
export function encodeProgress(value: unknown): Bytes {
  if (value === undefined) throw invalidArgument('progress', 'a value', value)
  const bytes = encodeValue(value, 'progress', 'progress')
  const size = bytes.byteLength
  if (size <= maxProgressBytes) return bytes
  const message = `progress: it has ${size} bytes, and the limit is ${maxProgressBytes}. It was not stored. Report a number or a short text, and keep large data elsewhere.`
  throw new HoldfastError('TOO_LARGE', message, { what: 'progress', size, limit: maxProgressBytes })
}

/** Reports of one attempt that are not stored yet. */
export class ReportBuffer {
  #progress: { readonly bytes: Bytes; readonly value: unknown } | undefined
  #lines: { readonly at: number; readonly line: Bytes }[] = []
  #bytes = 0
  /** Older lines that were dropped here. */
  #dropped = 0

  /** The last progress, for the event about it. Undefined: none was reported. */
  get value(): unknown {
    return this.#progress?.value
  }

  setProgress(value: unknown, bytes: Bytes): void {
    this.#progress = { bytes, value }
  }

  /** No more lines are kept than the storage would keep. */
  addLine(at: number, line: Bytes): void {
    this.#lines.push({ at, line })
    this.#bytes += line.byteLength
    while (this.#lines.length > logLinesKept || this.#bytes > logBytesKept) {
      this.#bytes -= this.#lines.shift()!.line.byteLength
      this.#dropped++
    }
  }

  /** A buffer with an earlier one before it. */
  after(earlier: ReportBuffer): ReportBuffer {
    const all = new ReportBuffer()
    all.#progress = this.#progress ?? earlier.#progress
    all.#dropped = earlier.#dropped + this.#dropped
    for (const { at, line } of [...earlier.#lines, ...this.#lines]) all.addLine(at, line)
    return all
  }

  toReport(): Report {
    const [first] = this.#lines
    if (!first) return { progress: this.#progress?.bytes }
    const dropped = { at: first.at, line: encodeLine(`${this.#dropped} lines before this one were not stored`) }
    return { progress: this.#progress?.bytes, log: this.#dropped > 0 ? [dropped, ...this.#lines] : this.#lines }
  }
}

/** The reports that one extend carries. */
export class ReportsInFlight {
  readonly #sent: { readonly attempt: Attempt; readonly report: ReportBuffer; readonly index: number }[] = []
  #answered: PromiseWithResolvers<void> | undefined

  /**
   * Takes the report of an attempt. Undefined: it has none, or an earlier one is in flight: lines must not change places.
   * @param index of the attempt in the call
   */
  take(attempt: Attempt, index: number): Report | undefined {
    const { report } = attempt
    if (!report || attempt.sending) return undefined
    this.#answered ??= Promise.withResolvers()
    this.#sent.push({ attempt, report, index })
    attempt.report = undefined
    attempt.sending = { report, answered: this.#answered.promise }
    return report.toReport()
  }

  /**
   * Gives reports back to their attempts that the storage did not take. To be called once the call was answered, or failed.
   * @param isStored whether the storage took the report of this index
   */
  end(isStored: (index: number) => boolean, onStored: (attempt: Attempt, report: ReportBuffer) => void): void {
    for (const { attempt, report, index } of this.#sent) {
      attempt.sending = undefined
      if (isStored(index)) onStored(attempt, report)
      else attempt.report = attempt.report?.after(report) ?? report
    }
    this.#answered?.resolve()
  }
}
