// Two sizes of the same test. `npm test` runs each at a size that finds a regression within seconds; `npm run test:all` at the size
// that the specification names, where a test only repeats itself. The same holds for drivers: what a driver can do differently is
// tested on every driver, and the code above the storage contract on the usual ones.

/** Set by `npm run test:all`. */
export const isFull = process.env.HOLDFAST_TEST_ALL === '1'

/** In this process, and on a server. SQLite answers in this process as memory does. */
const usualDrivers: readonly string[] = ['memory', 'redis']

/** Whether the tests of code above the storage contract run on the driver. `npm run test:all` runs them on every driver. */
export const isUsual = (driver: string): boolean => isFull || usualDrivers.includes(driver)

/** @param full rounds, jobs or histories of test:all @param ordinary those of `npm test` */
export const sized = (full: number, ordinary: number): number => (isFull ? full : ordinary)

/** @param full size of test:all @param ordinary those of `npm test`, by driver, with a default */
export const sizeOf = (
  full: number,
  driver: string,
  ordinary: Readonly<Record<string, number>> & { else: number },
): number => sized(full, ordinary[driver] ?? ordinary.else)

/**
 * The seed of random histories. `npm test` runs the same ones each time, so that a change is judged by what it changed. `npm run test:all`
 * and `npm run conformance` run others each time: they look for what is not known yet.
 */
export const modelSeed: { readonly seed?: number } = isFull ? {} : { seed: 1 }
