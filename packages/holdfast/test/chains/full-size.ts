// Sizes of tests. `HOLDFAST_TEST_ALL=1 npm test -- chains/` takes those of the specification; otherwise they are smaller where the
// full ones would take more than a few seconds.

const isFull = process.env['HOLDFAST_TEST_ALL'] === '1'

/** @param ordinary sizes by driver, with a default */
export function sizeOf(
  full: number,
  driver: string,
  ordinary: Readonly<Record<string, number>> & { else: number },
): number {
  return isFull ? full : (ordinary[driver] ?? ordinary.else)
}
