// The attempts that a record keeps, as lines of JSON: so a statement can add one without reading the others.

import type { AttemptRecord } from '../../storage.ts'
import { stateCodes, stateNames } from '../../rules/job/codes.ts'
import { decodeText, encodeText } from './text.ts'

/** In this order. The error is in base64; worker and label are as in their columns. */
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
      label: label === null ? undefined : decodeText(label),
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
      label === undefined ? null : encodeText(label),
      startedAt,
      endedAt,
      outcome,
      stateCodes[state],
      error === undefined ? null : Buffer.from(error).toString('base64'),
    ]
  })
  return lines.map((line) => JSON.stringify(line)).join('\n')
}
