// The test of a driver: `testStorage({ test, create })` in any runner. Every rule of the contract is a case.

import { caseContext } from './case-context.ts'
import type { Case, Subject } from './case.ts'
import { addCases } from './add/add.ts'
import { cancelCases } from './cancel/cancel.ts'
import { claimCases } from './claim/claim.ts'
import { connectCases } from './connection/connect.ts'
import { countCases } from './read/count.ts'
import { extendCases } from './lease/extend.ts'
import { getCases } from './read/get.ts'
import { hostileCases } from './hostile/hostile.ts'
import { kvCases } from './kv/kv.ts'
import { listCases } from './read/list.ts'
import { listenCases } from './listen/listen.ts'
import { nextDueAtCases } from './read/next-due-at.ts'
import { pauseCases } from './pause/pause.ts'
import { recoverCases } from './lease/recover.ts'
import { regressionCases } from './regressions.ts'
import { removeCases } from './remove/remove.ts'
import { reviveCases } from './revive/revive.ts'
import { settleCases } from './settle/settle.ts'
import { sweepCases } from './remove/sweep.ts'
import { transactionCases } from './connection/transaction.ts'

export type { Case, CaseContext, Subject } from './case.ts'
export { kvStoreCases, type KvStoreSubject, runKvStoreCase, testKvStore, type TestKvStoreOptions } from './kv-store.ts'
export {
  messageQueueCases,
  runQueueCase,
  testMessageQueue,
  type TestMessageQueueOptions,
} from './message-queue/message-queue.ts'
export { ModelViolation, testModel, type TestModelOptions } from './model/model.ts'
export type { MessageQueueSubject, QueueCase, QueueSettings } from './message-queue/queue-case.ts'

/** All cases, by the verb that they are about. */
export const cases: Readonly<Record<string, readonly Case[]>> = {
  connect: connectCases,
  add: addCases,
  claim: claimCases,
  extend: extendCases,
  settle: settleCases,
  recover: recoverCases,
  cancel: cancelCases,
  revive: reviveCases,
  remove: removeCases,
  pause: pauseCases,
  sweep: sweepCases,
  get: getCases,
  list: listCases,
  count: countCases,
  nextDueAt: nextDueAtCases,
  listen: listenCases,
  transaction: transactionCases,
  kv: kvCases,
  hostile: hostileCases,
  regressions: regressionCases,
}

export interface TestStorageOptions {
  /** The runner's own: node:test, vitest, tap, … */
  readonly test: (name: string, run: () => Promise<void>) => unknown
  /** An empty storage for each case. */
  readonly create: () => Subject | Promise<Subject>
  /** Told of each case that is not run, and why. @default registers it as a passing test that says so */
  readonly skip?: (name: string, reason: string) => void
}

/** Registers every case with the runner. Answers with their number. */
export async function testStorage({ test, create, skip }: TestStorageOptions): Promise<number> {
  const probe = await create()
  const { features } = probe.storage
  await probe.close?.()
  let count = 0
  for (const [verb, list] of Object.entries(cases)) {
    for (const item of list) {
      count++
      const name = `${verb}: ${item.name}`
      const missing = item.needs?.find((feature) => !features[feature])
      if (missing === undefined) test(name, () => runCase(item, create))
      else if (skip) skip(name, `the driver has no ${missing}`)
      else test(`${name} (skipped: the driver has no ${missing})`, async () => {})
    }
  }
  return count
}

/** Runs one case on a storage of its own. Rejects if it fails. */
export async function runCase(item: Case, create: TestStorageOptions['create']): Promise<void> {
  const subject = await create()
  await subject.storage.connect()
  try {
    await item.run(caseContext(subject))
  } finally {
    await subject.storage.disconnect()
    await subject.close?.()
  }
}
