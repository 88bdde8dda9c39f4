// Reports of attempts: as parameters of the statements that store them, and as they are read (sql/report-statements.ts).

import type { StoredReport } from '../../rows/job.ts'
import { appendLines } from '../../rules/job/report.ts'
import type { Bytes, LogLine } from '../../storage.ts'
import { arrayOf, decodeBytes, encodeBytes } from '../sql/text.ts'

/** What one call reports about a job. */
export interface NewReport {
  readonly progress: Bytes | undefined
  readonly lines: readonly LogLine[]
}

/** The nine parameters of storedReports(). @param numbered each report with its number */
export function reportParams(numbered: readonly (readonly [n: number, report: NewReport])[]): string[] {
  // Lines that would be dropped at once are counted, but not sent. Their bytes count too: older lines must not outlive them.
  const reports = numbered.map(([n, { progress, lines: all }]) => {
    const { lines, dropped } = appendLines(undefined, all)
    const bytes = all.reduce((sum, { line }) => sum + line.byteLength, 0)
    return {
      n,
      progress,
      count: all.length,
      bytes,
      lines: lines.map((line, index) => ({ n, place: dropped + index + 1, ...line })),
    }
  })
  const lines = reports.flatMap((report) => report.lines)
  return [
    arrayOf(reports.map(({ n }) => n)),
    arrayOf(reports.map(({ progress }) => encodeBytes(progress))),
    arrayOf(reports.map(({ count }) => count)),
    arrayOf(reports.map(({ bytes }) => bytes)),
    arrayOf(lines.map(({ n }) => n)),
    arrayOf(lines.map(({ place }) => place)),
    arrayOf(lines.map(({ attempt }) => attempt)),
    arrayOf(lines.map(({ at }) => at)),
    arrayOf(lines.map(({ line }) => encodeBytes(line))),
  ]
}

type ReportJson = [progress: string | null, total: number, lines: LineJson[] | null]
type LineJson = [n: number, attempt: number, at: number, line: string]

/** @param text of the report's column, or null */
export function decodeReport(text: string | null): StoredReport | undefined {
  if (text === null) return undefined
  const [progress, total, lines] = JSON.parse(text) as ReportJson
  // A line before a gap was dropped, and is not deleted yet.
  const first = (lines ?? []).findLastIndex(([n], index, all) => index > 0 && all[index - 1]![0] !== n - 1)
  const newest = (lines ?? []).slice(Math.max(first, 0))
  const stored = newest.map(([, attempt, at, line]) => ({ attempt, at, line: Buffer.from(line, 'hex') }))
  const kept = appendLines(undefined, stored).lines
  return { progress: decodeBytes(progress), log: { lines: kept, dropped: total - kept.length } }
}
