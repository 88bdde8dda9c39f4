// What running attempts report: progress, of which the last stays, and log lines, of which the newest stay.

import type { Log, LogLine, Report } from '../../storage.ts'
import type { Job, Move } from '../move.ts'
import { logBytesKept, logLinesKept } from './codes.ts'

/** Stores the report of the attempt that holds the job. The caller has checked its fence. */
export function keepReport(move: Move, job: Job, { progress, log }: Report): void {
  if (progress === undefined && !log?.length) return
  const lines = log?.map(({ at, line }) => ({ attempt: job.attempt, at, line })) ?? []
  move.report(job, progress, lines)
}

/** Those of the lines that are not stored yet. @param newest the newest line that is stored, whatever its attempt */
export function unstoredLines(
  newest: Pick<LogLine, 'attempt' | 'at'> | undefined,
  lines: readonly LogLine[],
): readonly LogLine[] {
  return newest ? lines.filter(({ attempt, at }) => attempt !== newest.attempt || at > newest.at) : lines
}

/** The log after new lines: within the bounds, without its oldest lines. The newest line always stays. */
export function appendLines(log: Log | undefined, added: readonly LogLine[]): Log {
  const lines = [...(log?.lines ?? []), ...added]
  let [first, bytes] = [lines.length, 0]
  while (first > 0 && lines.length - first < logLinesKept) {
    bytes += lines[first - 1]!.line.byteLength
    if (bytes > logBytesKept && first < lines.length) break
    first--
  }
  return { lines: lines.slice(first), dropped: (log?.dropped ?? 0) + first }
}
