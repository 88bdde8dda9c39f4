// A small run with jobs and tables in one database. `npm run chaos:federation` runs the other places.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { allPoints } from './points.ts'
import { runFederation, type RunReport } from './run-federation.ts'

async function run(t: TestContext, activities: number): Promise<RunReport> {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-chaos-federation-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  const print = (line: string): void => t.diagnostic(line)
  // Low concurrency, so that a busy machine answers requests before their deadline.
  const size = { activities, rounds: 1, workers: 2, concurrency: 3, timeoutMs: 1_000, seed: 1, waitsForUpkeep: false }
  return runFederation({ profile: 'hardened', place: 'sqlite', directory, ...size, print })
}

test('killed at every step of a delivery: nothing is lost, nothing is applied twice', async (t) => {
  const report = await run(t, 24)
  const { kills, requests, isClean, activities, ...problems } = report
  assert.ok(isClean, JSON.stringify(problems))
  assert.deepEqual(Object.keys(kills).toSorted(), [...allPoints].toSorted())
  // Some messages were sent more than once, so a repeat could have been applied twice.
  assert.ok(requests > activities, `${requests} requests`)
})
