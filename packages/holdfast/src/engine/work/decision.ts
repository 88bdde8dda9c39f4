// What an attempt ends in whose handler threw, or returned a directive: the same on every face.
//
//   snooze()                        → released, until its time; more often than maxSnoozes: failed
//   rateLimited()                   → released, until its time, with others of its type or group
//   the worker is stopping          → released
//   fail(), UnrecoverableError      → failed
//   retry()                         → retried, after its own delay if it has one
//   anything else                   → as onError answers, else retried
//
// How often a job is retried, and after which delay, is for the face to decide.

import { asError } from '../../error-details.ts'
import { HoldfastError, isHoldfastError } from '../../errors.ts'
import type { Bytes, When } from '../../storage/storage.ts'
import type { PublishEvent } from '../events.ts'
import {
  causeOf,
  type Directive,
  isDirective,
  rateLimitOf,
  retryOf,
  type SlowDown,
  snoozeOf,
} from '../job/directives.ts'
import type { Attempt } from './attempt.ts'
import type { AttemptEnd } from './outcomes.ts'

export type Decision =
  /**
   * @param cause error that the job keeps until its next run ends; undefined: none
   * @param slowDown the handler was told to slow down
   */
  | {
      readonly kind: 'released'
      readonly when: When | undefined
      readonly cause: unknown
      readonly slowDown?: SlowDown
    }
  | { readonly kind: 'failed'; readonly thrown: unknown }
  /** @param delayMs undefined: the backoff */
  | { readonly kind: 'retry'; readonly thrown: unknown; readonly delayMs: number | undefined }

/** Answer of onError: a directive; anything else is the normal course. */
export type ErrorAnswer = Directive | undefined | void

/** @param maxSnoozes Infinity: any number */
export function decisionOf(attempt: Attempt, thrown: unknown, maxSnoozes: number): Decision {
  const when = snoozeOf(thrown)
  if (when) return snoozed(attempt, when, causeOf(thrown), maxSnoozes)
  const slowDown = rateLimitOf(thrown)
  if (slowDown) return slowedDown(slowDown, causeOf(thrown))
  // The handler ended because the worker stops: that is no failure.
  if (attempt.abortedFor === 'stopping') return { kind: 'released', when: undefined, cause: undefined }
  if (isHoldfastError(thrown, 'UNRECOVERABLE')) return { kind: 'failed', thrown }
  const retry = retryOf(thrown)
  return { kind: 'retry', thrown: retry ? (causeOf(thrown) ?? thrown) : thrown, delayMs: retry?.delayMs }
}

/**
 * As decisionOf, with an answer of the user. Not asked about directives, nor about an attempt whose outcome no longer matters.
 * @param ask calls onError; an error of it is an `error` event, and the normal course
 */
export async function askedDecision(
  attempt: Attempt,
  thrown: unknown,
  ask: () => ErrorAnswer | Promise<ErrorAnswer>,
  { maxSnoozes, publishEvent }: { readonly maxSnoozes: number; readonly publishEvent: PublishEvent },
): Promise<Decision> {
  const decision = decisionOf(attempt, thrown, maxSnoozes)
  const isOpen = decision.kind === 'retry' && !isDirective(thrown)
  if (!isOpen || attempt.isOver || attempt.abortedFor === 'cancelled') return decision
  try {
    return decided(attempt, thrown, await ask(), maxSnoozes) ?? decision
  } catch (problem) {
    const message = `Job '${attempt.job.id}': onError failed: ${asError(problem).message}. The error of the handler is treated as without onError.`
    publishEvent({ name: 'error', error: new Error(message, { cause: problem }) })
    return decision
  }
}

/** The error that is recorded is the one of the handler, whatever the answer. */
function decided(attempt: Attempt, thrown: unknown, answer: unknown, maxSnoozes: number): Decision | undefined {
  const when = snoozeOf(answer)
  if (when) return snoozed(attempt, when, thrown, maxSnoozes)
  const slowDown = rateLimitOf(answer)
  if (slowDown) return slowedDown(slowDown, thrown)
  if (isHoldfastError(answer, 'UNRECOVERABLE')) return { kind: 'failed', thrown }
  const retry = retryOf(answer)
  return retry && { kind: 'retry', thrown, delayMs: retry.delayMs }
}

const slowedDown = ({ retryAfterMs, scope }: SlowDown, cause: unknown): Decision => ({
  kind: 'released',
  when: { delayMs: retryAfterMs },
  cause,
  slowDown: { retryAfterMs, scope },
})

/** The end of a released attempt. @param error the cause, as the face stores it */
export function releasedEnd(
  { when, slowDown }: Decision & { readonly kind: 'released' },
  error: Bytes | undefined,
): AttemptEnd {
  return {
    ending: {
      kind: 'released',
      ...when,
      ...(error && { error }),
      ...(slowDown && { slowDown: slowDown.scope }),
    },
    ...(slowDown && { slowDown }),
  }
}

function snoozed({ job }: Attempt, when: When, cause: unknown, maxSnoozes: number): Decision {
  if (job.snoozes < maxSnoozes) return { kind: 'released', when, cause }
  const message = `Job '${job.id}': it was snoozed ${job.snoozes} times, its maxSnoozes, and asked to be snoozed again. It failed. Raise maxSnoozes, or find what it waits for.`
  return { kind: 'failed', thrown: new HoldfastError('MAX_SNOOZES', message, { jobId: job.id, maxSnoozes, cause }) }
}
