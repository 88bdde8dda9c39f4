// Middlewares around an attempt: the first is outermost. Each sees the outcome of the handler, and none can change it.

import { HoldfastError } from '../../errors.ts'
import type { AttemptResult } from '../types/handler.ts'

export type PlainMiddleware = (context: object, next: () => Promise<AttemptResult>) => Promise<unknown>

/**
 * Runs `innermost` inside all of them. Whatever a middleware returns or catches, the one around it gets the outcome of
 * `innermost`.
 * @throws what a middleware throws, MIDDLEWARE_SKIPPED, or what `innermost` throws
 */
export function throughMiddlewares(
  middlewares: readonly PlainMiddleware[],
  context: object,
  innermost: () => Promise<AttemptResult>,
  at = 0,
): Promise<AttemptResult> {
  const middleware = middlewares[at]
  if (!middleware) return innermost()
  let inside: Promise<AttemptResult> | undefined
  const next = (): Promise<AttemptResult> => {
    inside ??= throughMiddlewares(middlewares, context, innermost, at + 1)
    // A middleware may not await it: that is no unhandled rejection.
    inside.catch(() => {})
    return inside
  }
  return (async () => {
    await middleware(context, next)
    if (inside) return inside
    const message = `middleware ${at} ended without a call of next(). The handler was not run, and the attempt failed.`
    throw new HoldfastError('MIDDLEWARE_SKIPPED', message, { at })
  })()
}
