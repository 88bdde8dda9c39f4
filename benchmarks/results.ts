// The results of a run as written and read: the values of each round. Medians and ratios are computed from them.

import { cpus, totalmem } from 'node:os'
import type { Unit } from './case.ts'
import type { Durability } from './contender.ts'
import type { Limits } from './load.ts'

export interface Results {
  /** Start of the run, ISO 8601. */
  readonly date: string
  readonly command: string
  /** Hash of the Holdfast sources that were measured. */
  readonly sources: string
  readonly machine: Machine
  /** File system of the storages, if on disk. */
  readonly disk?: string
  readonly rounds: number
  readonly limits: Limits
  readonly contenders: readonly Described[]
  readonly rows: readonly Row[]
}

interface Machine {
  readonly cores: number
  readonly cpu: string
  readonly memoryGb: number
  readonly platform: string
  readonly node: string
}

export interface Described {
  readonly name: string
  readonly driver: string
  readonly version: string
  readonly isPeer: boolean
  readonly durability?: Durability
  readonly configuration: string
}

/** One measure of every contender that supports it. */
export interface Row {
  readonly driver: string
  readonly case: string
  readonly variant: string
  readonly measure: string
  readonly unit: Unit
  readonly baseline?: string
  readonly entries: readonly Entry[]
}

export interface Entry {
  readonly contender: string
  readonly isPeer: boolean
  /** The moves of Holdfast on the raw client. @default false */
  readonly isLimit?: boolean
  /** One value per round. */
  readonly values: readonly number[]
  readonly note?: string
  /** Why the result is invalid. */
  readonly invalid?: string
}

const keyOf = (row: Row): string => `${row.driver} ${row.case}`

/** The results without rows that a newer run has, the newest run first. Of a driver and case one run counts, with all its variants. */
export function newestOfEach(all: readonly Results[]): Results[] {
  const seen = new Set<string>()
  return all
    .toSorted((a, b) => (a.date < b.date ? 1 : -1))
    .map((results) => {
      const rows = results.rows.filter((row) => !seen.has(keyOf(row)))
      for (const row of rows) seen.add(keyOf(row))
      return { ...results, rows }
    })
}

export function thisMachine(): Machine {
  const [cpu] = cpus()
  return {
    cores: cpus().length,
    cpu: cpu?.model.trim() ?? 'unknown',
    memoryGb: Math.round(totalmem() / 2 ** 30),
    platform: `${process.platform} ${process.arch}`,
    node: process.version,
  }
}

/** Formatted as the formatter does: lists of numbers on one line. */
export function toJson(results: Results): string {
  const json = JSON.stringify(results, rounded, 2)
  return `${json.replace(/\[\s+([-\d.,e\s]+?)\s+\]/g, (_, list: string) => `[${list.replace(/\s+/g, ' ')}]`)}\n`
}

/** Four digits: a noisy machine gives no more. */
function rounded(_: string, value: unknown): unknown {
  return typeof value === 'number' && !Number.isInteger(value) ? Number(value.toPrecision(4)) : value
}
