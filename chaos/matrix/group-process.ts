// Runs a group of cells in a process of its own, and sends the results to run-group.ts. So a cell that hangs, or that breaks the process,
// takes no other one with it; its servers end with this process.

import { cells } from './cells.ts'
import type { GroupTask } from './run-group.ts'
import { nameOf, runCells } from './run-cell.ts'

process.on('disconnect', () => process.exit(1))
const { names, seed, seconds } = JSON.parse(process.argv[2]!) as GroupTask
const own = cells.filter((cell) => names.includes(nameOf(cell)))
const results = await runCells(own, { seed, seconds, print: (line) => console.log(line) })
process.send!(results, undefined, undefined, () => process.exit(0))
