// The run itself, at a small size, where jobs and tables share a database; npm run chaos:federation has the others.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { pointNames } from './points.ts'
import { runFederation, type RunReport } from './run-federation.ts'

async function run(t: TestContext, activities: number): Promise<RunReport> {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-chaos-federation-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  const tell = (line: string): void => t.diagnostic(line)
  // Few at a time, so that a busy machine answers them before they are given up and tried again.
  const size = { activities, rounds: 1, workers: 2, concurrency: 3, timeoutMs: 1_000, seed: 1, waitsForUpkeep: false }
  return runFederation({ place: 'sqlite', directory, ...size, tell })
}

test('killed at every step of a delivery: nothing is lost, nothing is applied twice', async (t) => {
  const report = await run(t, 24)
  const { kills, requests, isClean, activities, ...problems } = report
  assert.ok(isClean, JSON.stringify(problems))
  assert.deepEqual(Object.keys(kills).toSorted(), [...pointNames.producer, ...pointNames.worker].toSorted())
  // Some came more than once, so there was something that could have been applied twice.
  assert.ok(requests > activities, `${requests} requests`)
})
