// What every scenario is given, and what it says.

import type { MatrixDriver } from '../faults.ts'

export interface ScenarioContext {
  readonly driver: MatrixDriver
  readonly seed: number
  readonly seconds: number
  /** An empty directory. */
  readonly directory: string
}

export interface ScenarioResult {
  readonly faults: number
  readonly violations: readonly string[]
  /** What was seen, for the report. */
  readonly note?: string
  /** Why it could not run here. */
  readonly skipped?: string
}

export type Scenario = (context: ScenarioContext) => Promise<ScenarioResult>
