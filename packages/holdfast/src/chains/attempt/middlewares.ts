// Middlewares around an attempt: the first is outermost. Each sees what came of the handler, and changes nothing about it.

import { HoldfastError } from '../../errors.ts'
import type { AttemptResult } from '../types/processing.ts'

export type PlainMiddleware = (context: object, next: () => Promise<AttemptResult>) => Promise<unknown>

/**
 * Runs `innermost` inside all of them. Whatever a middleware returns or swallows, the one around it is told what
 * `innermost` gave.
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
    // A middleware that does not wait for it is no reason to end the process.
    inside.catch(() => {})
    return inside
  }
  return (async () => {
    await middleware(context, next)
    if (inside) return inside
    throw new HoldfastError('MIDDLEWARE_SKIPPED', `middleware ${at} ended without having called next()`, { at })
  })()
}
