// The attempts that a record keeps, one line of JSON each: so a statement can append one without parsing the others
// (fast/failed-attempts.ts).

import { stateCodes, stateNames } from '../../rules/job/codes.ts'
import type { AttemptRecord } from '../../storage.ts'
import { decodeOptionalText, decodeText, encodeOptionalText, encodeText } from '../sql/text.ts'

/** The values of a line, in order. The error is in base64; worker and label are encoded as in their columns. */
type Line = [
  attempt: number,
  worker: string,
  label: string | null,
  startedAt: number,
  endedAt: number,
  outcome: AttemptRecord['outcome'],
  state: number,
  error: string | null,
]

export function decodeAttempts(text: string | null): AttemptRecord[] | undefined {
  return text?.split('\n').map((line) => {
    const [attempt, worker, label, startedAt, endedAt, outcome, state, error] = JSON.parse(line) as Line
    return {
      attempt,
      worker: decodeText(worker),
      label: decodeOptionalText(label),
      startedAt,
      endedAt,
      outcome,
      state: stateNames[state]!,
      error: error === null ? undefined : Buffer.from(error, 'base64'),
    }
  })
}

export function encodeAttempts(attempts: readonly AttemptRecord[] | undefined): string | null {
  if (!attempts) return null
  const lines = attempts.map((ended): Line => {
    const { attempt, worker, label, startedAt, endedAt, outcome, state, error } = ended
    return [
      attempt,
      encodeText(worker),
      encodeOptionalText(label),
      startedAt,
      endedAt,
      outcome,
      stateCodes[state],
      error === undefined ? null : Buffer.from(error).toString('base64'),
    ]
  })
  return lines.map((line) => JSON.stringify(line)).join('\n')
}
