// The results of a run of the matrix. Each is written to the file as its cell ends, so that a run that is ended from outside loses none, and the
// next run goes on where it stopped.

import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { versionOf } from '../report.ts'
import { summaryOf } from './matrix-table.ts'
import type { CellResult } from './run-cell.ts'

/** With the commit that was run: a file may have cells of several. */
export type CommittedResult = CellResult & { readonly commit: string }

export class Results {
  readonly #file: string | undefined
  readonly #commit: string
  readonly #cells = new Map<string, CommittedResult>()

  /** @param file read if it exists, and written with each result; undefined: kept in memory alone */
  constructor(file: string | undefined, commit: string) {
    this.#file = file
    this.#commit = commit
    if (file === undefined || !existsSync(file)) return
    const { cells } = JSON.parse(readFileSync(file, 'utf8')) as { readonly cells: readonly CommittedResult[] }
    for (const result of cells) this.#cells.set(result.cell, result)
  }

  /** Whether this commit has run the cell. Of a tree with changes nobody knows what was run. */
  has(cell: string): boolean {
    return !this.#commit.endsWith('-dirty') && this.#cells.get(cell)?.commit === this.#commit
  }

  of(cells: readonly string[]): CommittedResult[] {
    return cells.flatMap((cell) => this.#cells.get(cell) ?? [])
  }

  add(results: readonly CellResult[], { seconds }: { readonly seconds: number }): void {
    for (const result of results) this.#cells.set(result.cell, { ...result, commit: this.#commit })
    if (this.#file === undefined) return
    const cells = [...this.#cells.values()]
    const machine = { node: process.version, cores: cpus().length, cpu: cpus()[0]?.model ?? 'unknown' }
    const report = { version: versionOf(), machine, seconds, summary: summaryOf(cells), cells }
    // Complete when it gets its name.
    writeFileSync(`${this.#file}.part`, `${JSON.stringify(report, undefined, 2)}\n`)
    renameSync(`${this.#file}.part`, this.#file)
  }
}
