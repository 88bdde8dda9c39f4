// What the callback of complete() says: an output, which ends the chain, or a continuation, with the chains that block it.

import { HoldfastError, JobTypeValidationError } from '../../errors.ts'
import type { Bytes, Ending, JobRef, NewJob } from '../../storage/storage.ts'
import type { Ground } from '../dependencies.ts'
import { encodeJson } from '../json.ts'
import { type Predecessor, type StartRequest, Starts } from '../client/start-batch.ts'

/** How a job is completed, ready for the storage. */
export type Completing =
  | { readonly kind: 'completed'; readonly result: Bytes; readonly output: unknown }
  | {
      readonly kind: 'continued'
      readonly jobs: readonly NewJob[]
      readonly next: JobRef
      /** To be called when they are written, or will not be. */
      readonly onEnd: (error?: unknown) => void
    }

/** What continueWith gives: only its maker knows what is in it. */
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
  { registry, clock }: Pick<Ground, 'registry' | 'clock'>,
  tx?: unknown,
): Promise<Completing> {
  const starts = new Starts({ registry, clock, retention: job.retention, tx })
  let token: ContinuationToken | undefined
  let next: Promise<NewJob> | undefined
  const continueWith = async (request: StartRequest): Promise<ContinuationToken> => {
    if (next) throw new HoldfastError('CONTINUE_TWICE', `job '${job.id}' has a continuation already`, { jobId: job.id })
    next = starts.next(request, job)
    await next
    return (token = new ContinuationToken(request.typeName))
  }
  try {
    const returned = await run(tx === undefined ? { continueWith } : { continueWith, tx })
    if (returned instanceof ContinuationToken && returned === token) {
      const { type, id } = await next!
      starts.checkCircles()
      return { kind: 'continued', jobs: starts.jobs, next: { type, id }, onEnd: (error) => starts.endSpans(error) }
    }
    if (next) {
      const message = 'continueWith was called, and what it gave was not returned'
      throw new JobTypeValidationError('INVALID_CONTINUATION', job.type, message)
    }
    return await completedBy(job.type, returned, registry)
  } catch (error) {
    starts.endSpans(error)
    throw error
  }
}

export async function completedBy(
  typeName: string,
  given: unknown,
  registry: Ground['registry'],
): Promise<Completing & { kind: 'completed' }> {
  const output = await registry.parseOutput(typeName, given)
  return { kind: 'completed', result: encodeJson('result', typeName, output), output }
}

/** Without its fence. */
export function endingOf(completing: Completing): Ending & { kind: 'completed' | 'continued' } {
  if (completing.kind === 'completed') return { kind: 'completed', result: completing.result }
  const [next, ...add] = completing.jobs
  return { kind: 'continued', next: next!, add }
}
