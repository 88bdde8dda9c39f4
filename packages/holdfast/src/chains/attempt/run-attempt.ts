// One attempt at a job of a chain, as the list of its steps:
//
//   arm the timeout → call the handler, which may prepare() and must complete() → wait for its completion → settle
//
// A step that throws ends the list: what is open is rolled back, and failure.ts decides what the attempt ends in.
// Invariant: nothing is recorded before the handler has resolved, and nothing of an attempt that is over.

import type { Timer } from '../../clock.ts'
import type { AttemptEnd } from '../../engine/work/outcomes.ts'
import type { Completing } from '../job/completion.ts'
import { callHandler } from './call-handler.ts'
import type { ChainAttempt } from './chain-attempt.ts'
import { failureAfter } from './failure.ts'
import { settle } from './settle.ts'

/** Never rejects. */
export async function runAttempt(run: ChainAttempt): Promise<AttemptEnd> {
  const timer = armTimeout(run)
  try {
    await callHandler(run)
    const completing = await completionOf(run)
    return await settle(run, completing)
  } catch (thrown) {
    return await fail(run, thrown)
  } finally {
    timer?.cancel()
  }
}

function armTimeout(run: ChainAttempt): Timer | undefined {
  const timeoutMs = run.attempt.job.timeoutMs ?? run.processor.timeoutMs
  if (timeoutMs === undefined) return undefined
  return run.dependencies.clock.after(timeoutMs, () => {
    if (run.isSettling) return
    run.attempt.abort('timeout')
    run.attempt.abandon(run.handler)
    run.end(run.error('ATTEMPT_TIMEOUT', `it ran for ${timeoutMs} ms, its timeoutMs. It counts as a failure.`))
  })
}

async function completionOf(run: ChainAttempt): Promise<Completing> {
  if (run.completing) return Promise.race([run.completing, run.over])
  throw run.error('COMPLETE_NOT_CALLED', 'the handler resolved without complete(). Return the result of complete().')
}

async function fail(run: ChainAttempt, thrown: unknown): Promise<AttemptEnd> {
  endContinuation(run, thrown)
  await run.transaction?.rollBack(thrown)
  run.attempt.locked = false
  // The reason of the rollback explains more than the errors that the handler got on its closed transaction.
  run.thrown = run.broken?.isTooLong ? run.broken.error : thrown
  return failureAfter(run, run.thrown)
}

/** The continuation will not be written. */
function endContinuation({ completing }: ChainAttempt, error: unknown): void {
  void completing?.then((one) => one.kind === 'continued' && one.onEnd(error)).catch(() => {})
}
