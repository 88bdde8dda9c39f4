// What complete() was given: an output, which ends the chain, or a continuation, with the chains that block it.

import { isDirective } from '../../engine/job/directives.ts'
import { HoldfastError, JobTypeValidationError } from '../../errors.ts'
import type { Bytes, Ending, JobRef, NewJob } from '../../storage/storage.ts'
import type { Dependencies } from '../dependencies.ts'
import { StartBatch } from './start-batch.ts'
import type { Predecessor, StartRequest } from './start-request.ts'
import { typeNameOf } from './stored-type.ts'
import { encodeOutput } from './values.ts'

/** How a job is completed, ready for the storage. */
export type Completing =
  | { readonly kind: 'completed'; readonly result: Bytes; readonly output: unknown }
  | {
      readonly kind: 'continued'
      readonly jobs: readonly NewJob[]
      readonly next: JobRef
      /** To be called when the jobs are written, or will not be. @param error why not */
      readonly onEnd: (error?: unknown) => void
    }

/** What continueWith gives. Only the callback that got it can return it. */
class ContinuationToken {
  readonly typeName: string
  constructor(typeName: string) {
    this.typeName = typeName
  }
}

type Run = (context: object) => unknown

/** @param tx for the callbacks, where there is one */
export async function runCompletion(
  run: Run,
  job: Predecessor,
  { registry, clock, addLimits }: Pick<Dependencies, 'registry' | 'clock' | 'addLimits'>,
  tx?: unknown,
): Promise<Completing> {
  // Never refused for the number of jobs that wait: the work before it is done.
  const applyLimits = (next: NewJob): void => addLimits.applyToNext(next)
  const batch = new StartBatch({ registry, clock, retention: job.retention, applyLimits, tx })
  const typeName = typeNameOf(job.type)
  let token: ContinuationToken | undefined
  let next: Promise<NewJob> | undefined
  const continueWith = async (request: StartRequest): Promise<ContinuationToken> => {
    if (next) throw continuedTwice(typeName, job.id)
    next = batch.continue(request, job)
    await next
    return (token = new ContinuationToken(request.typeName))
  }
  try {
    const returned = await run(tx === undefined ? { continueWith } : { continueWith, tx })
    if (returned instanceof ContinuationToken && returned === token) {
      const { type, id } = await next!
      batch.checkCycles()
      return { kind: 'continued', jobs: batch.jobs, next: { type, id }, onEnd: (error) => batch.endSpans(error) }
    }
    if (next) {
      const message = 'continueWith() was called, but its result was not returned from the callback of complete()'
      throw new JobTypeValidationError('INVALID_CONTINUATION', typeName, message)
    }
    return await completedWith(typeName, returned, registry)
  } catch (error) {
    batch.endSpans(error)
    throw error
  }
}

/** @throws a directive, which is no output; INVALID_OUTPUT, SerializationError */
export async function completedWith(
  typeName: string,
  given: unknown,
  registry: Dependencies['registry'],
): Promise<Completing & { kind: 'completed' }> {
  if (isDirective(given)) throw given
  const output = await registry.parseOutput(typeName, given)
  return { kind: 'completed', result: encodeOutput(typeName, output), output }
}

/** Without its fence. */
export function endingOf(completing: Completing): Ending & { kind: 'completed' | 'continued' } {
  if (completing.kind === 'completed') return { kind: 'completed', result: completing.result }
  const [next, ...add] = completing.jobs
  return { kind: 'continued', next: next!, add }
}

function continuedTwice(typeName: string, jobId: string): HoldfastError {
  const message = `job '${jobId}' of '${typeName}': continueWith() was called twice. The first call counts.`
  return new HoldfastError('CONTINUE_TWICE', message, { typeName, jobId })
}
