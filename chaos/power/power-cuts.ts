// Power cuts: the writes of a process are recorded once; then the disk is rebuilt as it may be after a cut at many random points, and opened.
// What was acknowledged before the cut must be there.

import { spawn } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Queue } from 'holdfast'
import { programOf } from '../../scripts/test-programs.ts'
import { driverNamed } from '../drivers.ts'
import { randomOf } from '../random.ts'
import { imageAt } from './disk-image.ts'
import { type DiskOp, diskOpsOf, straceArgs } from './recorded-writes.ts'
import { openPowered, type PowerChild } from './powered.ts'

export interface PowerCuts {
  readonly driver: string
  readonly seed: number
  readonly cuts: number
  readonly operations: number
  readonly syncs: number
  /** Acknowledged jobs over all images. */
  readonly jobs: number
  readonly violations: readonly string[]
}

export interface PowerOptions {
  readonly driver: string
  readonly seed: number
  readonly cuts: number
  readonly jobs: number
  readonly durability?: 'full' | 'relaxed'
}

/** @param directory an empty directory */
export async function cutPower(options: PowerOptions, directory: string): Promise<PowerCuts> {
  const { driver, seed, cuts, durability = 'full' } = options
  const ops = await recordWrites({ ...options, durability }, directory)
  const ready = ops.findIndex((op) => op.kind === 'told' && op.line === 'ready')
  // A server has been up for a while: its own first files count as synced. A storage of files begins with nothing.
  const keep = driver === 'redis' ? ready + 1 : 0
  const random = randomOf(seed, `power cuts of ${driver}`)
  const violations: string[] = []
  let jobs = 0
  for (let number = 0; number < cuts; number++) {
    const cut = random.integer(ready + 1, ops.length)
    const told = ops.slice(0, cut).flatMap((op) => (op.kind === 'told' && op.line !== 'ready' ? [op.line] : []))
    const image = join(directory, `image-${number}`)
    writeImage(imageAt(ops, cut, random, keep), join(directory, 'data'), image)
    const found = await inspect(driver, image, told).catch((error: unknown) => [`it does not open: ${String(error)}`])
    violations.push(...found.map((sentence) => `cut ${number} after operation ${cut}: ${sentence}`))
    jobs += told.length
    if (found.length === 0) rmSync(image, { recursive: true, force: true })
  }
  const syncs = ops.filter(({ kind }) => kind === 'sync').length
  return { driver, seed, cuts, operations: ops.length, syncs, jobs, violations }
}

async function recordWrites(options: Required<PowerOptions>, directory: string): Promise<DiskOp[]> {
  const [data, notes, trace] = ['data', 'notes', 'trace'].map((name) => join(directory, name)) as [
    string,
    string,
    string,
  ]
  mkdirSync(data)
  const { driver, jobs, durability } = options
  const config: PowerChild = { driver, directory: data, notes, jobs, durability }
  const program = programOf(new URL('child.ts', import.meta.url))
  const flags = ['--conditions=@holdfast/source', '--no-warnings', program, JSON.stringify(config)]
  const child = spawn('strace', [...straceArgs(trace), process.execPath, ...flags], {
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: 300_000,
    killSignal: 'SIGKILL',
  })
  let problems = ''
  child.stderr.on('data', (chunk) => (problems += chunk))
  const code = await new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', resolve)
  })
  if (code !== 0) throw new Error(`power cut: the recorded process ended with ${String(code)}: ${problems.trim()}`)
  return diskOpsOf(readFileSync(trace, 'latin1'), data, notes)
}

function writeImage(files: ReadonlyMap<string, Buffer>, from: string, to: string): void {
  mkdirSync(to, { recursive: true })
  for (const [path, bytes] of files) {
    // SQLite maps its shared memory, which no power cut keeps, and makes it anew.
    if (path.endsWith('-shm')) continue
    const target = path.replace(from, to)
    mkdirSync(dirname(target), { recursive: true })
    writeFileSync(target, bytes)
  }
}

/** @returns what is missing or wrong */
async function inspect(driver: string, image: string, told: readonly string[]): Promise<string[]> {
  const wrong: string[] = []
  const { storage, stop } = await openPowered(driver, image, 'full')
  try {
    await storage.connect()
    const queue = new Queue<string, string>({ storage, name: 'power' })
    for (const line of told) {
      const [what, id] = line.split(' ') as [string, string]
      const status = await queue.getStatus(id)
      if (!status) wrong.push(`${id} was acknowledged and is gone`)
      else if (what === 'ended' && status.state !== 'completed')
        wrong.push(`${id} had completed and is ${status.state}`)
    }
    // It is worth little if it cannot be written to.
    await queue.enqueue('after the cut', 'payload')
    await queue.stop()
    await storage.disconnect()
  } finally {
    await stop()
  }
  if (driver === 'sqlite') wrong.push(...(await driverNamed(driver).inspect!(image)))
  return wrong
}
