// Uses up its file descriptors: see no-descriptors.ts.

import { closeSync, openSync } from 'node:fs'
import { isHoldfastError } from 'holdfast'
import { sleep } from '../../child.ts'
import { driverNamed } from '../../drivers.ts'
import { eventually, Workload } from '../workload.ts'

const { driver, directory } = JSON.parse(process.argv[2]!) as { driver: string; directory: string }
const workload = new Workload({ open: () => driverNamed(driver).open(directory) })
const violations: string[] = []
process.on('unhandledRejection', (error) => void violations.push(`unhandled: ${String(error)}`))
await workload.start()
let faults = 0
let refused = 0
for (let round = 0; round < 5; round++) {
  await workload.goesOn(20, 20_000)
  const held = useUp()
  faults++
  for (let number = 0; number < 5; number++) {
    const error: unknown = await workload.queue.enqueue(`e${round}-${number}`, { number }).then(
      () => undefined,
      (reason: unknown) => reason,
    )
    if (error !== undefined) refused++
    if (error !== undefined && !isHoldfastError(error, 'STORAGE_ERROR'))
      violations.push(`refused with ${String(error)}`)
  }
  await sleep(200)
  for (const descriptor of held) closeSync(descriptor)
  if (!(await eventually(15_000, async () => workload.goesOn(10, 1_000))))
    violations.push('it does not go on after 15 s')
}
const { wrong } = await workload.end()
console.log(JSON.stringify({ faults, violations: [...violations, ...wrong], note: `${refused} adds refused` }))
process.exit(0)

function useUp(): number[] {
  const held: number[] = []
  for (;;) {
    try {
      held.push(openSync('/dev/null', 'r'))
    } catch {
      return held
    }
  }
}
