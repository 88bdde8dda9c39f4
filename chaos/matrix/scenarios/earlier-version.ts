// A checkout of an earlier commit works on the storage that this version opens beside it. Promised, until there is a release: where both know
// the layout of the storage, nothing that either of them acknowledged is lost or recorded twice; a version that does not know it refuses.

import { execFileSync, spawn } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { Queue } from 'holdfast'
import { openPlace } from '../open-place.ts'
import { acceptsNewer } from './newer-layout.ts'
import { eventually } from '../workload.ts'
import type { ScenarioContext, ScenarioResult } from './scenario.ts'

/** A commit with the layouts of today, on every driver. Those before it lack what a claim on Redis lists together, and cannot know that they do. */
const earlier = '7d6f3bf7'
const root = fileURLToPath(new URL('../../../', import.meta.url))

interface Said {
  readonly what: 'ready' | 'acked' | 'completed' | 'error' | 'refused'
  readonly id: string
}

export async function run({ driver, directory, seconds }: ScenarioContext): Promise<ScenarioResult> {
  const checkout = join(directory, 'earlier')
  const problem = checkOut(checkout)
  if (problem !== '') return { faults: 0, violations: [], skipped: problem }
  const place = await openPlace(driver, directory)
  const violations: string[] = []
  const one = start(checkout, 'earlier-1', driver, directory, place.url)
  await eventually(30_000, async () => one.ids('acked').length >= 30 || one.ended)
  if (one.ids('acked').length === 0) violations.push(`the earlier version alone: ${one.problem()}`)
  // Opens the storage while the other works.
  const now = start(root, 'now', driver, directory, place.url)
  await eventually(30_000, async () => now.ids('acked').length >= 30 || now.ended)
  const two = start(checkout, 'earlier-2', driver, directory, place.url)
  await eventually(Math.max(5, seconds / 4) * 1_000, async () => now.ended)
  const all = [one, two, now]
  for (const process of all) process.quiet()
  const storage = await place.open()
  const queue = new Queue<string>({ storage, name: 'mixed' })
  await queue.start()
  const left = new Set<string>()
  const gone = new Set<string>()
  const isDone = async (id: string): Promise<boolean> => {
    const status = await queue.getStatus(id)
    if (!status) gone.add(id)
    return !status || status.state === 'completed'
  }
  await eventually(45_000, async () => {
    left.clear()
    for (const id of all.flatMap((process) => process.ids('acked'))) if (!(await isDone(id))) left.add(id)
    return left.size === 0
  })
  for (const process of all) await process.end()
  for (const id of left) violations.push(`${id} was acknowledged and is not completed after 45 s`)
  const told = all.flatMap((process) => process.ids('completed'))
  for (const id of gone) {
    const byOf = all.findIndex((process) => process.ids('completed').includes(id))
    const by = ['the earlier version', 'the earlier version', 'this version'][byOf]
    violations.push(by ? `${id}: completed by ${by}, and its record is gone before its time` : `lost: ${id}`)
  }
  const twice = told.filter((id, index) => told.indexOf(id) !== index)
  for (const id of new Set(twice)) violations.push(`doubleRecorded: ${id}`)
  await queue.stop()
  violations.push(...(await acceptsNewer(driver, place, directory)))
  await place.stop()
  return {
    faults: 3,
    violations,
    note: `earlier, there first: ${did(one)}; earlier, started last: ${did(two)}; now: ${did(now)}`,
  }
}

/** For the report. */
const did = (process: Running): string =>
  `${process.ids('acked').length} added, ${process.ids('completed').length} completed${process.problem() && `, ${process.problem()}`}`

function checkOut(folder: string): string {
  try {
    mkdirSync(folder)
    const archive = execFileSync('git', ['archive', earlier, 'packages'], {
      cwd: root,
      maxBuffer: 2 ** 28,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    execFileSync('tar', ['x', '-C', folder], { input: archive })
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
    cpSync(fileURLToPath(new URL('earlier-version-child.ts', import.meta.url)), join(folder, 'child.ts'))
    return existsSync(join(folder, 'packages/holdfast/src/index.ts')) ? '' : `${earlier} has no such sources`
  } catch (error) {
    return `no checkout of ${earlier}: ${(error as Error).message.split('\n')[0]}`
  }
}

interface Running {
  readonly ended: boolean
  ids(what: Said['what']): string[]
  /** The first error, or how it ended. */
  problem(): string
  /** Adds no more jobs, and works on. */
  quiet(): void
  end(): Promise<void>
}

function start(folder: string, name: string, driver: string, directory: string, url: string | undefined): Running {
  const program =
    folder === root ? fileURLToPath(new URL('earlier-version-child.ts', import.meta.url)) : join(folder, 'child.ts')
  const config = JSON.stringify({ folder, name, driver, directory, url })
  const child = spawn(process.execPath, ['--conditions=@holdfast/source', '--no-warnings', program, config], {
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  const said: Said[] = []
  let stderr = ''
  let ended = false
  createInterface({ input: child.stdout }).on('line', (line) => said.push(JSON.parse(line) as Said))
  child.stderr.on('data', (chunk) => (stderr += chunk))
  child.stdin.on('error', () => {})
  const closed = new Promise<void>((resolve) => {
    child.on('close', () => {
      ended = true
      resolve()
    })
  })
  return {
    get ended() {
      return ended
    },
    ids: (what) => said.filter((one) => one.what === what).map(({ id }) => id),
    problem: () =>
      said.find(({ what }) => what === 'refused' || what === 'error')?.id ?? stderr.trim().split('\n').at(-1) ?? '',
    quiet: () => void child.stdin.write('quiet\n'),
    async end() {
      child.stdin.end()
      const timer = setTimeout(() => child.kill('SIGKILL'), 15_000)
      await closed
      clearTimeout(timer)
    },
  }
}
