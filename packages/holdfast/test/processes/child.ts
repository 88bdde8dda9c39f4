// A process of the tests, seen from outside.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { programOf } from '../../../../scripts/test-programs.ts'
import { until } from '../queue/driver.ts'
import type { Place } from './drivers.ts'

export interface Child {
  /** Everything it said so far. */
  readonly said: unknown[]
  /** Waits for something it says. */
  hears(fits: (line: any) => boolean, what: string): Promise<any>
  /** Writes a line to its standard input. A process that has ended misses it. */
  send(line?: string): void
  signal(name: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): void
  readonly exited: Promise<unknown>
}

/** Of a file that is run as `file <spec> <scene> …`. */
export async function startChild(
  file: URL,
  t: { after(end: () => unknown): void },
  { spec }: Pick<Place, 'spec'>,
  scene: string,
  ...args: unknown[]
): Promise<Child> {
  const texts = args.map((arg) => (typeof arg === 'string' ? arg : JSON.stringify(arg)))
  const child = spawn(
    process.execPath,
    ['--conditions=@holdfast/source', programOf(file), JSON.stringify(spec), scene, ...texts],
    { stdio: ['pipe', 'pipe', 'inherit'] },
  )
  // By then all that it said is read.
  const exited = once(child, 'close')
  // Some processes kill themselves, at a point that the test does not wait for.
  child.stdin.on('error', () => {})
  const said: unknown[] = []
  createInterface(child.stdout).on('line', (line) => said.push(JSON.parse(line)))
  t.after(async () => {
    child.kill('SIGKILL')
    await exited
  })
  const started: Child = {
    said,
    hears: async (fits, what) => {
      // To start a process takes its time on a machine that has other things to do.
      await until(() => said.some(fits), what, 40_000)
      return said.find(fits)
    },
    send: (line = '') => void child.stdin.write(`${line}\n`),
    signal: (name) => assert.ok(child.kill(name)),
    exited,
  }
  return started
}
