// @holdfast/conformance: suites for storage drivers, message queues and key-value stores. Every rule of a contract is a case.

import { caseContext } from './case-context.ts'
import type { Case, Subject } from './case.ts'
import { addCases } from './add/add.ts'
import { cancelCases } from './cancel/cancel.ts'
import { claimCases } from './claim/claim.ts'
import { connectCases } from './connection/connect.ts'
import { countCases } from './read/count.ts'
import { diagnoseCases } from './read/diagnose.ts'
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
import { registerCase, type SuiteRunner } from './register-case.ts'
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
export type { SuiteRunner } from './register-case.ts'
export { ModelViolation, testModel, type TestModelOptions } from './model/model.ts'
export type { MessageQueueSubject, QueueCase, QueueSettings } from './message-queue/queue-case.ts'

/** Every storage case, by verb. */
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
  diagnose: diagnoseCases,
  nextDueAt: nextDueAtCases,
  listen: listenCases,
  transaction: transactionCases,
  kv: kvCases,
  hostile: hostileCases,
  regressions: regressionCases,
}

export interface TestStorageOptions extends SuiteRunner {
  /** Returns an empty storage; called once for each case, and once to read the features. */
  readonly create: () => Subject | Promise<Subject>
}

/**
 * Registers every storage case with the runner and returns their number. A case that needs a feature which
 * `storage.features` lacks is skipped.
 */
export async function testStorage({ create, ...runner }: TestStorageOptions): Promise<number> {
  const probe = await create()
  const { features } = probe.storage
  await probe.close?.()
  let count = 0
  for (const [verb, list] of Object.entries(cases)) {
    for (const item of list) {
      count++
      const missing = item.needs?.find((feature) => !features[feature])
      const skipReason = missing && `the driver has no ${missing}`
      registerCase(runner, `${verb}: ${item.name}`, skipReason, () => runCase(item, create))
    }
  }
  return count
}

/** Runs one case on a storage of its own. Rejects if the case fails. */
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
