// A test of commands, as data: it is run on SQLite and on a server.

import type { TestContext } from 'node:test'
import type { DriverName, Place, Running, Settings } from '../test-host.ts'

export interface CommandCase {
  readonly name: string
  /** The commands that it proves. Each of them must end with exit code 0 at least once, or the case fails. */
  readonly proves: readonly string[]
  run(tools: CaseTools): Promise<void>
}

interface CaseTools {
  readonly t: TestContext
  readonly driver: DriverName
  /** A storage with jobs (`placeWith`). */
  place(): Promise<Place>
  /** Starts a command that goes on. */
  start(args: readonly string[], settings?: Settings): Running
}
