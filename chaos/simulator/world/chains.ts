// The chains of a run: an order waits for two parts and continues as a shipment; every second part is weighed first.

import { defineJobTypes, type InProcessWorkerOptions } from 'holdfast/chains'
import type { HandlerRun } from './handlers.ts'

type Types = {
  part: { entry: true; input: string; output: string; continueWith: { typeName: 'weigh' } }
  weigh: { input: string; output: string }
  order: {
    entry: true
    input: string
    output: string
    continueWith: { typeName: 'ship' }
    blockers: [{ typeName: 'part' }, { typeName: 'part' }]
  }
  ship: { input: string; output: string }
}

export const jobTypes = defineJobTypes<Types>()

type Context = Pick<HandlerRun, 'signal' | 'progress' | 'log'>
/** Runs the handler of a job. @returns its result, or a directive */
type Run = (type: keyof Types, id: string, input: string, context: Context) => Promise<unknown>

const isText = (value: unknown): value is string => typeof value === 'string'

export function chainProcessors(run: Run): InProcessWorkerOptions<Types, never>['jobTypeProcessors'] {
  return {
    part: {
      process: async ({ job, complete, signal, progress, log }) => {
        const result = await run('part', job.id, job.input, { signal, progress, log })
        if (!isText(result)) return result as never
        const isWeighed = Number(job.input.split('-')[1]) % 2 === 1
        return complete(async ({ continueWith }) =>
          isWeighed ? continueWith({ typeName: 'weigh', input: job.input }) : result,
        )
      },
    },
    weigh: {
      process: async ({ job, complete, signal, progress, log }) => {
        const result = await run('weigh', job.id, job.input, { signal, progress, log })
        return isText(result) ? complete(result) : (result as never)
      },
    },
    order: {
      process: async ({ job, complete, signal, progress, log }) => {
        const result = await run('order', job.id, job.input, { signal, progress, log })
        if (!isText(result)) return result as never
        return complete(async ({ continueWith }) => continueWith({ typeName: 'ship', input: job.input }))
      },
    },
    ship: {
      process: async ({ job, complete, signal, progress, log }) => {
        const result = await run('ship', job.id, job.input, { signal, progress, log })
        return isText(result) ? complete(result) : (result as never)
      },
    },
  }
}
