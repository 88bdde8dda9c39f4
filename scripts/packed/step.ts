// One check of an installed package.

import type { Project } from './project.ts'

export interface Step {
  /** Printed, and matched by `--only`. */
  readonly name: string
  /** The key of the project in which it runs. */
  readonly project: string
  /** @throws if the packages do not do what the name says */
  run(project: Project): Promise<void>
}

/** A failure that a person can read without a stack. */
export class StepFailure extends Error {}
