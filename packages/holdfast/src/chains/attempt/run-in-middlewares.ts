// An attempt inside middlewares. Its end is decided by the handler; or by a middleware that fails before that. What the
// middlewares do after the record was made keeps the slot, and changes nothing.

import { asError } from '../../error-details.ts'
import type { SettleVerdict } from '../../storage/storage.ts'
import type { AttemptEnd } from '../../engine/work/outcomes.ts'
import type { AttemptRun } from './attempt-run.ts'
import { type PlainMiddleware, throughMiddlewares } from './middlewares.ts'
import type { AttemptResult } from '../types/processing.ts'

/** @param onError told what a middleware throws after the record was made */
export function runInMiddlewares(
  run: AttemptRun,
  middlewares: readonly PlainMiddleware[],
  context: object,
  fail: (thrown: unknown) => AttemptEnd,
  onError: (error: Error) => void,
): Promise<AttemptEnd> {
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
    const end = await run.run()
    if (!isDecided) decide(end)
    const verdict = await settled.promise
    try {
      return run.resultOf(end, verdict)
    } catch (error) {
      thrownInside = { error }
      throw error
    }
  }
  const runAll = async (): Promise<void> => {
    // A step later, so that `finished` is there for whatever ends at once.
    await undefined
    try {
      await throughMiddlewares(middlewares, context, innermost)
    } catch (error) {
      if (!isDecided) {
        run.end(error)
        decide(fail(error))
      } else if (thrownInside?.error !== error) {
        onError(asError(error))
      }
    }
  }
  const finished = runAll()
  return decided.promise
}
