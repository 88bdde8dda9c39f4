// What workers did per minute in the last hour, for the tiles.

import type { HistoryPage } from '../../../shared/api.ts'
import { number, shortNumber } from '../../lib/words.ts'
import { useLive } from '../../state/live.ts'
import { to } from '../../state/location.ts'

export interface Rate {
  /** Mean of the last minutes. Undefined: workers wrote nothing in this hour. */
  readonly perMinute: number | undefined
  readonly values: readonly number[]
}

/** Minutes of the mean. */
const meanOf = 5

export function useRates(): { readonly completed: Rate; readonly failing: Rate } {
  const points = useLive<HistoryPage>(to('history', { range: '1h' })).answer?.data.points ?? []
  return {
    completed: rateOf(points.map(({ completed }) => completed)),
    failing: rateOf(points.map(({ failed, retried }) => failed + retried)),
  }
}

/** @param all the last of them is not over, and left out */
function rateOf(all: readonly number[]): Rate {
  const values = all.slice(0, -1)
  const last = values.slice(-meanOf)
  if (last.length === 0) return { perMinute: undefined, values }
  return { perMinute: last.reduce((sum, value) => sum + value, 0) / last.length, values }
}

export const rateText = ({ perMinute }: Rate): string =>
  perMinute === undefined
    ? '–'
    : perMinute < 10
      ? number(Math.round(perMinute * 10) / 10)
      : shortNumber(Math.round(perMinute))
