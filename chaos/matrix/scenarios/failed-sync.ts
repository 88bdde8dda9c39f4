// fsync and fdatasync fail with EIO, by strace: nothing is acknowledged by a sync that failed, and what was acknowledged is there when the
// storage is opened again.

import { Queue } from 'holdfast'
import { installStrace } from '../../../servers/install.ts'
import { driverNamed } from '../../drivers.ts'
import { randomOf } from '../../random.ts'
import { runUnder } from './run-under.ts'
import type { ScenarioContext, ScenarioResult } from './scenario.ts'

interface Told {
  readonly acked: readonly string[]
  readonly refused: readonly { readonly id: string; readonly code: string; readonly maybeApplied: boolean }[]
}

const jobs = 30

export async function run({ driver, seed, seconds, directory }: ScenarioContext): Promise<ScenarioResult> {
  if (!installStrace()) return { faults: 0, violations: [], skipped: 'strace is not installed' }
  const random = randomOf(seed, `failed syncs of ${driver}`)
  const violations: string[] = []
  const rounds = Math.max(4, Math.floor(seconds / 4))
  let faults = 0
  let refusals = 0
  for (let round = 0; round < rounds; round++) {
    const folder = `${directory}/${round}`
    // The first syncs are those of the new storage: a storage that cannot be made is an error at connect.
    const when = random.integer(8, 40)
    const { acked, refused } = await told(folder, driver, when)
    faults += refused.length > 0 ? 1 : 0
    refusals += refused.length
    for (const { id, code } of refused) if (code !== 'STORAGE_ERROR') violations.push(`${id} was refused with ${code}`)
    const storage = await driverNamed(driver).open(folder)
    await storage.connect()
    const queue = new Queue({ storage, name: 'matrix' })
    for (const id of acked) if (!(await queue.getStatus(id))) violations.push(`lost: ${id}, sync ${when} failed`)
    // No half of a job may hold the id of one that was refused.
    for (const { id } of refused)
      await queue.enqueue(id, 'again').catch((error: Error) => violations.push(`${id}: ${error.message}`))
    await queue.stop()
    await storage.disconnect()
    violations.push(...((await driverNamed(driver).inspect?.(folder)) ?? []))
  }
  return { faults, violations, note: `${refusals} adds refused in ${rounds} rounds` }
}

function told(folder: string, driver: string, when: number): Promise<Told> {
  const inject = ['-e', `inject=fsync,fdatasync:error=EIO:when=${when}`]
  const strace = ['strace', '-f', '-qq', '-e', 'trace=fsync,fdatasync', '-o', '/dev/null', ...inject] as const
  return runUnder<Told>(strace, 'failed-sync-child.ts', { driver, folder, jobs })
}
