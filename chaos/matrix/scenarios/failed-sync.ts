// fsync and fdatasync fail with EIO, by strace: nothing is acknowledged by a sync that failed, and what was acknowledged is there when the
// storage is opened again.

import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { Queue } from 'holdfast'
import { installStrace } from '../../../servers/install.ts'
import { driverNamed } from '../../drivers.ts'
import { randomOf } from '../../random.ts'
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

async function told(folder: string, driver: string, when: number): Promise<Told> {
  const program = fileURLToPath(new URL('failed-sync-child.ts', import.meta.url))
  const inject = ['-e', `inject=fsync,fdatasync:error=EIO:when=${when}`]
  const node = [
    process.execPath,
    '--conditions=@holdfast/source',
    '--no-warnings',
    program,
    JSON.stringify({ driver, folder, jobs }),
  ]
  const child = spawn('strace', ['-f', '-qq', '-e', 'trace=fsync,fdatasync', '-o', '/dev/null', ...inject, ...node], {
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 120_000,
    killSignal: 'SIGKILL',
  })
  let [output, problems] = ['', '']
  child.stdout.on('data', (chunk) => (output += chunk))
  child.stderr.on('data', (chunk) => (problems += chunk))
  const code = await new Promise((resolve) => child.on('close', resolve))
  if (code !== 0) throw new Error(`the process ended with ${String(code)}: ${problems.trim()}`)
  return JSON.parse(output) as Told
}
