// The sizes that the specification names, by `HOLDFAST_TEST_ALL=1 npm test -- chains/`. Ordinarily smaller ones, where the full
// ones would take longer than a few seconds.

const isFull = process.env['HOLDFAST_TEST_ALL'] === '1'

/** @param ordinary by the driver, where it has a size of its own */
export function sizeOf(
  full: number,
  driver: string,
  ordinary: Readonly<Record<string, number>> & { else: number },
): number {
  return isFull ? full : (ordinary[driver] ?? ordinary.else)
}
