// A storage on a file system of 6 MB: filled until an add is refused, used while full, and used again once
// there is space. No acknowledged job may be missing at any time, and no restart may be needed.

import { spawnSync } from 'node:child_process'
import { isHoldfastError, Queue, type StorageError } from 'holdfast'
import { sleep } from './child.ts'
import { driverNamed } from './drivers.ts'
import type { FullDisk } from './full-disk.ts'
import { type Violation, violation } from './history.ts'
import { typeOf } from './jobs.ts'

const { driver, small } = JSON.parse(process.argv[2]!) as { driver: string; small: string }
const mount = (...options: string[]): string => {
  const { status, stderr, error } = spawnSync('mount', [...options, small], { encoding: 'utf8' })
  return status === 0 ? '' : (error?.message ?? stderr.trim())
}
const problem = mount('-t', 'tmpfs', '-o', 'size=6m', 'tmpfs')
console.log(JSON.stringify(problem === '' ? await fill() : { skipped: problem, violations: [] }))
process.exit(0)

async function fill(): Promise<FullDisk> {
  const violations: Violation[] = []
  const fail = (sentence: string): void => void violations.push(violation('full', sentence))
  const storage = await driverNamed(driver).open(small)
  const queue = new Queue<string, number>({ storage, name: 'kept', leaseMs: 1_000, concurrency: 4 })
  queue.on('error', () => {})
  await queue.start()

  const acked: string[] = []
  const payload = 'x'.repeat(32_768)
  let refusal: unknown
  let refusedAfterMs = 0
  while (refusal === undefined && acked.length < 1_000) {
    const id = `full-${acked.length}`
    const askedAt = performance.now()
    try {
      await queue.enqueue(id, payload)
      acked.push(id)
    } catch (error) {
      refusal = error ?? 'nothing'
      refusedAfterMs = Math.round(performance.now() - askedAt)
    }
  }
  if (refusal === undefined) fail(`${acked.length} jobs of 32 KB were accepted on a disk of 6 MB`)
  else if (!isHoldfastError(refusal, 'STORAGE_ERROR'))
    fail(`an add was refused with an untyped error: ${String(refusal)}`)
  await allThere('while the disk is full')

  queue.execute((job) => job.payload.length)
  // All jobs must complete, not only some: a worker that stops half way would wait for space that no other process frees.
  await eventually(30_000, async () => (await completed()) === acked.length)
  const completedWhileFull = await completed()
  if (completedWhileFull < acked.length) {
    fail(`${completedWhileFull} of ${acked.length} jobs were completed while the disk was full`)
  }

  const enlarged = mount('-o', 'remount,size=64m')
  if (enlarged !== '') fail(`could not enlarge the disk: ${enlarged}`)
  const last = `full-${acked.length}`
  // The refused job, on the same queue: no partial job may hold its id.
  if (!(await eventually(15_000, () => accepts(last)))) fail('an add is still refused 15 s after there was space')
  else acked.push(last)
  if (!(await eventually(30_000, async () => (await completed()) === acked.length))) {
    fail(`${await completed()} of ${acked.length} completed 30 s after there was space`)
  }
  await allThere('at the end')
  await queue.stop()
  const { message: refusedWith, maybeApplied } = (refusal ?? {}) as Partial<StorageError>
  return { acked: acked.length, refusedWith, maybeApplied, refusedAfterMs, completedWhileFull, violations }

  async function allThere(when: string): Promise<void> {
    for (const id of acked) if (!(await queue.getStatus(id))) fail(`${id} was acknowledged and is gone, ${when}`)
  }

  async function accepts(id: string): Promise<boolean> {
    return queue.enqueue(id, payload).then(
      () => true,
      () => false,
    )
  }

  async function completed(): Promise<number> {
    const { types } = await storage.count({ types: [typeOf('kept')] })
    return types[0]?.states.completed ?? 0
  }
}

async function eventually(ms: number, isSo: () => Promise<boolean>): Promise<boolean> {
  const until = performance.now() + ms
  while (performance.now() < until) {
    if (await isSo()) return true
    await sleep(100)
  }
  return false
}
