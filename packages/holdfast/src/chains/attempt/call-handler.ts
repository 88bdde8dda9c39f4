// Calls the handler of a job with its context. A directive that the handler returns counts as thrown.

import { isDirective } from '../../engine/job/directives.ts'
import { inSpan } from '../events/tracing.ts'
import type { Callback, ChainAttempt } from './chain-attempt.ts'
import { complete } from './complete.ts'
import { prepare } from './prepare.ts'

/** @throws what the handler throws, or why the attempt is over */
export async function callHandler(run: ChainAttempt): Promise<void> {
  run.handler = call(run)
  const returned = await Promise.race([run.handler, run.over])
  if (isDirective(returned)) throw returned
}

async function call(run: ChainAttempt): Promise<unknown> {
  const { job, attempt, processor } = run
  return processor.process({
    job,
    signal: attempt.signal,
    progress: (value: unknown) => attempt.progress(value),
    log: (text: string, fields?: Readonly<Record<string, unknown>>) => attempt.log(text, fields),
    prepare: (options: { readonly mode: 'atomic' | 'staged' }, callback?: Callback) =>
      inSpan(`prepare ${job.typeName}`, () => prepare(run, options, callback)),
    complete: (given: unknown, options?: { readonly tx?: false }) =>
      inSpan(`complete ${job.typeName}`, () => complete(run, given, options)),
  })
}
