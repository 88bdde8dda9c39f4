// One group of cells, in a process of its own with a time limit: whatever happens there, each cell has a result.

import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Cell } from './cells.ts'
import { type CellResult, nameOf } from './run-cell.ts'

export interface GroupTask {
  readonly names: readonly string[]
  readonly seed: number
  readonly seconds: number
}

export interface GroupOptions extends Omit<GroupTask, 'names'> {
  readonly limitMs: number
  /** Starts the process. For tests. @default that of group-process.ts */
  readonly start?: (task: GroupTask) => ChildProcess
}

export async function runGroup(group: readonly Cell[], options: GroupOptions): Promise<CellResult[]> {
  const { seed, seconds, limitMs, start = startGroup } = options
  const child = start({ names: group.map(nameOf), seed, seconds })
  let results: CellResult[] | undefined
  let isLate = false
  child.on('message', (message) => (results = message as CellResult[]))
  const limit = setTimeout(() => {
    isLate = true
    child.kill('SIGKILL')
  }, limitMs)
  const code = await new Promise<string>((resolve) => {
    child.on('close', (exit, signal) => resolve(String(exit ?? signal)))
  })
  clearTimeout(limit)
  if (results) return results
  const why = isLate ? `it did not end within ${limitMs / 60_000} minutes` : `its process ended with ${code}`
  return group.map((cell) => ({ cell: nameOf(cell), by: cell.way.by, seed, runs: 0, faults: 0, violations: [why] }))
}

function startGroup(task: GroupTask): ChildProcess {
  const program = fileURLToPath(new URL('group-process.ts', import.meta.url))
  const flags = ['--conditions=@holdfast/source', '--no-warnings']
  return spawn(process.execPath, [...flags, program, JSON.stringify(task)], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
}
