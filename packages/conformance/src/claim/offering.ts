// A worker that claims nothing and offers its slots, for cases about jobs that adds hand over.

import assert from 'node:assert/strict'
import type { ClaimedJob, ClaimRequest, NewJob } from 'holdfast/storage'
import type { CaseContext } from '../case.ts'
import { idsOf } from '../records.ts'

interface Offering {
  readonly request: ClaimRequest
  /** What was handed over, in the order of the hints. */
  readonly handed: ClaimedJob[]
  /** Adds jobs by one call, and waits for the hint. @returns those of them that were handed over */
  add(...jobs: readonly NewJob[]): Promise<string[]>
}

/** Listens, and runs the test with a worker that claims nothing and offers its slots. */
export async function offering(
  context: CaseContext,
  slots: number,
  run: (offering: Offering) => Promise<void>,
  before?: () => Promise<unknown>,
): Promise<void> {
  const { storage, claimRequest, until } = context
  const handed: ClaimedJob[] = []
  let hints = 0
  const unlisten = await storage.listen([{ kind: 'wake', type: 'mail' }], (signal) => {
    hints++
    if (signal.handed) handed.push(signal.handed)
  })
  await before?.()
  const request = claimRequest({ slots: 10, offer: { by: 'worker', slots } })
  assert.deepEqual(idsOf((await storage.claim(request)).jobs), [])
  const add = async (...jobs: readonly NewJob[]): Promise<string[]> => {
    const [hintsBefore, handedBefore] = [hints, handed.length]
    await storage.add(jobs)
    await until(() => hints > hintsBefore)
    return idsOf(handed.slice(handedBefore))
  }
  await run({ request, handed, add })
  await unlisten()
}
