// An attempt inside middlewares. Its end is decided by the handler, or by a middleware that fails before that. What middlewares do
// after the record was made keeps the slot, and changes nothing.

import type { AttemptEnd } from '../../engine/work/outcomes.ts'
import { asError } from '../../error-details.ts'
import type { SettleVerdict } from '../../storage/storage.ts'
import type { AttemptResult } from '../types/handler.ts'
import { attemptResult } from './attempt-result.ts'
import type { ChainAttempt } from './chain-attempt.ts'
import { failureAfter } from './failure.ts'
import { type PlainMiddleware, throughMiddlewares } from './middlewares.ts'
import { runAttempt } from './run-attempt.ts'

/** Never rejects. */
export function runInMiddlewares(
  run: ChainAttempt,
  middlewares: readonly PlainMiddleware[],
  context: object,
): Promise<AttemptEnd> {
  const { dependencies } = run
  const decided = Promise.withResolvers<AttemptEnd>()
  const settled = Promise.withResolvers<SettleVerdict | undefined>()
  let isDecided = false
  let thrownInside: { readonly error: unknown } | undefined

  const decide = (end: AttemptEnd): void => {
    isDecided = true
    decided.resolve({
      ...end,
      after: (verdict) => {
        settled.resolve(verdict)
        return finished
      },
    })
  }
  const innermost = async (): Promise<AttemptResult> => {
    const end = await runAttempt(run)
    if (!isDecided) decide(end)
    const verdict = await settled.promise
    try {
      return attemptResult(run, end, verdict)
    } catch (error) {
      thrownInside = { error }
      throw error
    }
  }
  const runAll = async (): Promise<void> => {
    // A step later, so that `finished` is set for an attempt that ends at once.
    await undefined
    try {
      await throughMiddlewares(middlewares, context, innermost)
    } catch (error) {
      if (!isDecided) {
        run.end(error)
        decide(await failureAfter(run, error))
      } else if (thrownInside?.error !== error) {
        // After the record: an event, and the job stays as it is.
        dependencies.publishEvent({ name: 'error', error: asError(error) })
      }
    }
  }
  const finished = runAll()
  return decided.promise
}
