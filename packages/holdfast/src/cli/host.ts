// What a command sees of the process it runs in. Tests give one of their own.

import type { Clock } from '../clock.ts'

export interface Host {
  readonly clock: Clock
  readonly env: Readonly<Record<string, string | undefined>>
  /** Working directory. */
  readonly cwd: string
  /** Size of the terminal that the output goes to. Undefined: it goes elsewhere. */
  size(): { readonly columns: number; readonly rows: number } | undefined
  /** Writes to the standard output. */
  write(text: string): void
  /** Writes to the standard error. */
  writeError(text: string): void
  /** Reads the standard input to its end. */
  readInput(): Promise<string>
  /** Asks the operator. Undefined: there is no terminal to ask at. @returns the answer */
  readonly ask: ((question: string) => Promise<string>) | undefined
  /**
   * Aborts when the operator interrupts the command (SIGINT, SIGTERM), or when the output was closed. Before the first call an interrupt
   * ends the process, as is usual; after it, the command ends itself, and a second interrupt ends the process.
   */
  interruption(): AbortSignal
  /** Reads keys one by one, until the signal aborts. Undefined: there is no terminal. */
  readonly keys: ((signal: AbortSignal) => AsyncIterable<string>) | undefined
  /** Calls back when the size of the terminal has changed. @returns what ends it */
  onResize(callback: () => void): () => void
  /** Calls back if the process ends by an error, so that a screen can be restored. @returns what ends it */
  onCrash(callback: () => void): () => void
  /** Name of the user of the system. */
  user(): string | undefined
}
