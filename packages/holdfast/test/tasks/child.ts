// A process of the tests, seen from outside.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { until } from '../queue/driver.ts'
import type { Place } from './drivers.ts'

export interface Child {
  /** Everything it said so far. */
  readonly said: unknown[]
  /** Waits for something it says. */
  hears(fits: (line: any) => boolean, what: string): Promise<any>
  tell(line?: string): void
  signal(name: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): void
  readonly exited: Promise<unknown>
}

export async function startChild(t: TestContext, place: Place, scene: string, ...args: unknown[]): Promise<Child> {
  const file = fileURLToPath(new URL('./process.ts', import.meta.url))
  const texts = args.map((arg) => (typeof arg === 'string' ? arg : JSON.stringify(arg)))
  const child = spawn(
    process.execPath,
    ['--conditions=@holdfast/source', file, JSON.stringify(place.spec), scene, ...texts],
    { stdio: ['pipe', 'pipe', 'inherit'] },
  )
  const exited = once(child, 'exit')
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
    tell: (line = '') => void child.stdin.write(`${line}\n`),
    signal: (name) => assert.ok(child.kill(name)),
    exited,
  }
  return started
}
