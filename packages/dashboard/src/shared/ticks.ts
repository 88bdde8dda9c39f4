// Where the axes of a chart have their marks: round values that people read easily, and not too many of them.

const [second, minute, hour, day] = [1_000, 60_000, 3_600_000, 86_400_000]
/** Lengths of time that people read easily, in ms. */
const lengths: readonly number[] = [
  1,
  2,
  5,
  10,
  20,
  50,
  100,
  200,
  500,
  ...[1, 2, 5, 10, 15, 30].map((count) => count * second),
  ...[1, 2, 5, 10, 15, 30].map((count) => count * minute),
  ...[1, 2, 3, 6, 12].map((count) => count * hour),
  ...[1, 2, 5, 7, 14, 28].map((count) => count * day),
]

/** Marks above 0 on the axis of values, at most. */
const mostValueTicks = 4

/** Marks from 0 up to one that is not below the highest value. They are whole numbers. @param kind `length`: of time, in ms */
export function valueTicks(highest: number, kind: 'count' | 'length'): number[] {
  const wanted = Math.max(1, highest)
  const fits = (step: number): boolean => step * mostValueTicks >= wanted
  const step = (kind === 'length' ? lengths.find(fits) : undefined) ?? roundSteps(wanted).find(fits)!
  return Array.from({ length: Math.ceil(wanted / step) + 1 }, (_, index) => index * step)
}

/** 1, 2 and 5 of each power of ten around a value. */
function roundSteps(value: number): number[] {
  const power = 10 ** Math.floor(Math.log10(value))
  return [power / 10, power, power * 10]
    .flatMap((unit) => [1, 2, 5].map((factor) => factor * unit))
    .filter((step) => step >= 1)
}

/**
 * Instants between two others at which a clock on the wall shows a round time, so many at most.
 * @param offsetMs of the local time from UTC
 */
export function timeTicks(from: number, to: number, most: number, offsetMs: number): number[] {
  const step = lengths.find((length) => length >= second && (to - from) / length <= most) ?? 28 * day
  const ticks: number[] = []
  for (let at = Math.ceil((from + offsetMs) / step) * step - offsetMs; at <= to; at += step) ticks.push(at)
  return ticks
}
