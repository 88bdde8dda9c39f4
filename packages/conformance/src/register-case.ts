/** The test runner that a suite registers its cases with. */
export interface SuiteRunner {
  /** The `test` function of the runner: node:test, vitest, tap, … */
  readonly test: (name: string, run: () => Promise<void>) => unknown
  /** Called for each case that is not run, with the reason. @default registers a passing test whose name has the reason */
  readonly skip?: (name: string, reason: string) => void
}

/** @param skipReason why the case cannot run on this subject; undefined: it runs */
export function registerCase(
  { test, skip }: SuiteRunner,
  name: string,
  skipReason: string | undefined,
  run: () => Promise<void>,
): void {
  if (skipReason === undefined) test(name, run)
  else if (skip) skip(name, skipReason)
  else test(`${name} (skipped: ${skipReason})`, async () => {})
}

/** The name of a case with the ids that it proves. */
export const nameWithIds = (suite: string, name: string, ids: readonly string[] = []): string =>
  `${suite}: ${[name, ...ids.map((id) => `[${id}]`)].join(' ')}`
