// The one task of a run.

import type { Storage } from 'holdfast'
import {
  createTasks,
  type StandardSchemaV1,
  StorageMessageQueue,
  type TaskDefinition,
  type Tasks,
} from 'holdfast/tasks'
import type { HandlerResult, HandlerRun } from './handlers.ts'
import type { SimulatedNode } from './node.ts'
import type { Setup } from './setup.ts'

type Context = Pick<HandlerRun, 'signal' | 'progress' | 'log'>

/** Takes every text. */
const text: StandardSchemaV1<string, string> = {
  '~standard': { version: 1, vendor: 'simulator', validate: (value: unknown) => ({ value: value as string }) },
}

/** Defines the task, with its handler. */
export function noteTask(
  tasks: Tasks,
  run: (id: string, data: string, context: Context) => Promise<HandlerResult>,
): TaskDefinition<string, string> {
  return tasks.defineTask('note', {
    schema: text,
    handler: (context, data) =>
      directiveOf(
        run(context.id, data, {
          signal: context.signal,
          progress: (value) => context.progress(value),
          log: (line) => context.log(line),
        }),
      ),
  })
}

/** A task has no result. */
async function directiveOf(run: Promise<HandlerResult>): Promise<Exclude<HandlerResult, string> | undefined> {
  const result = await run
  return typeof result === 'string' ? undefined : result
}

export function tasksOn(storage: Storage, node: SimulatedNode, setup: Setup): Tasks {
  const { leaseMs, pollMs, concurrency, maxAttempts, prefetchMs } = setup
  const backoff = { type: 'exponential', ...setup.backoff } as const
  const common = { clock: node.clock, maxAttempts, backoff, logger: {} }
  const queue = new StorageMessageQueue(storage, {
    ...common,
    leaseMs,
    pollMs,
    concurrency,
    prefetchMs,
    presenceMs: false,
  })
  return createTasks({ ...common, queue })
}
