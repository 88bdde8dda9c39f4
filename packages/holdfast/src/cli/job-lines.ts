// The upper part of `holdfast job`: the job in a few lines, a label and a value each.

import type { JobDetails } from '../engine/operate/job-details.ts'
import type { ErrorDetails } from '../errors.ts'
import { counted } from '../count-text.ts'
import { typeText } from './find-type.ts'
import { toJson } from './output.ts'
import { stateStyle } from './state-style.ts'
import type { Part } from './text.ts'
import { ageText, durationText, instantText } from './time.ts'

interface How {
  readonly now: number
  /** Long values whole. */
  readonly isFull: boolean
}

/** Characters and lines of a value that are shown, unless it is shown whole. */
const [mostText, mostLines] = [2_000, 12]

export function jobLines(job: JobDetails, how: How): Part[][] {
  const { id, state, reason, attempts, maxAttempts, cancelling } = job
  const runs = maxAttempts === undefined ? `${attempts}` : `${attempts} of ${maxAttempts}`
  const why = cancelling ? 'asked to stop' : reason
  return [
    [{ text: `${typeText(job)} ${id}`, style: 'bold' }],
    ...row('state', [{ text: state, style: stateStyle[state] }, why === undefined ? '' : ` (${why})`]),
    ...row('attempts', [runs]),
    ...factRows(job, how.now),
    ...valueRows('payload', job, how),
    ...valueRows('progress', job, how),
    ...valueRows('result', job, how),
    ...(job.error ? textRows('error', errorText(job.error), how) : []),
  ]
}

function factRows(job: JobDetails, now: number): Part[][] {
  const { priority, group, weight, deduplicationKey, search, timeoutMs, workerId, leaseUntil, cancelReason } = job
  const waits = job.state === 'scheduled' || job.state === 'queued' || job.state === 'failing'
  const facts: Readonly<Record<string, string | undefined>> = {
    due: waits ? `${instantText(job.runAt)}, ${ageText(job.runAt, now)}` : undefined,
    worker: job.state === 'processing' ? workerId : undefined,
    lease: leaseUntil === undefined ? undefined : `ends ${ageText(leaseUntil, now)}, unless it is renewed`,
    cancelled: cancelReason,
    priority: priority === 0 ? undefined : String(priority),
    group,
    weight: weight === undefined ? undefined : String(weight),
    key: deduplicationKey,
    search: search && toJson(search, 0),
    timeout: timeoutMs === undefined ? undefined : durationText(timeoutMs),
    expires: job.expiresAt === undefined ? undefined : `the record, ${ageText(job.expiresAt, now)}`,
    chain: job.chain && `${typeText(job.chain)} ${job.chain.id}`,
    blockers:
      job.blockers.length === 0 ? undefined : job.blockers.map((one) => `${typeText(one)} ${one.id}`).join(', '),
    log: job.log.lines.length === 0 ? undefined : `${counted(job.log.lines.length, 'line')}: holdfast logs ${job.id}`,
  }
  return Object.entries(facts).flatMap(([label, text]) => (text === undefined ? [] : row(label, [text])))
}

function valueRows(part: 'payload' | 'progress' | 'result', job: JobDetails, how: How): Part[][] {
  const undecodable = job.undecodable?.[part]
  if (undecodable) {
    return textRows(part, `${undecodable.bytes.length} bytes of another serde: ${undecodable.reason}`, how)
  }
  return part in job ? textRows(part, toJson(job[part], 2), how) : []
}

/** Name, code and message, the stack below, its causes, and the errors that it stands for. */
function errorText({ name, code, message, stack, cause, errors }: ErrorDetails, depth = 0): string {
  const head = `${name ?? 'Error'}${code === undefined ? '' : ` [${code}]`}: ${message}`
  const frames = stack?.split('\n').filter((line) => /^\s+at /.test(line)) ?? []
  if (depth >= 5) return [head, ...frames].join('\n')
  const below = [
    ...(cause ? [`caused by ${errorText(cause, depth + 1)}`] : []),
    // An error that stores itself by toJSON() may have other errors.
    ...(Array.isArray(errors) ? errors : [])
      .filter((one: Partial<ErrorDetails> | null) => typeof one?.message === 'string')
      .map((one) => `one of them: ${errorText(one, depth + 1)}`),
  ]
  return [head, ...frames, ...below].join('\n')
}

const row = (label: string, parts: readonly Part[]): Part[][] => [[{ text: label.padEnd(10), style: 'dim' }, ...parts]]

/** A value of several lines, below its label. */
function textRows(label: string, text: string, { isFull }: How): Part[][] {
  const short = isFull || text.length <= mostText ? text : `${text.slice(0, mostText)}…`
  const lines = short.split('\n')
  const shown = isFull ? lines : lines.slice(0, mostLines)
  const isCut = shown.length < lines.length || short !== text
  const rest = isCut
    ? [[' '.repeat(10), { text: `… ${text.length} characters: --full shows them`, style: 'dim' } as const]]
    : []
  return [...shown.flatMap((line, index) => row(index === 0 ? label : '', [line])), ...rest]
}
