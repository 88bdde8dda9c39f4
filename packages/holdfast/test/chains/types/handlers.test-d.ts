// What the compiler guarantees of job chains: handlers. Never run: `npm run types` checks it.
// A line after `@ts-expect-error` must be an error; the correct lines around it must not be.

import { type Completion, createInProcessWorker, fail, failJob, rescheduleJob, snooze } from 'holdfast/chains'
import { storage, jobTypeRegistry, same } from './shop.ts'

// ── 6. continueWith: to declared types, with their input, one at a time ──────────────────────────────────────────────

export const point6 = createInProcessWorker({
  storage,
  jobTypeRegistry,
  jobTypeProcessors: {
    order: {
      process: async ({ job, complete }) =>
        complete(async ({ continueWith }) => {
          if (job.attempt === 1) return continueWith({ typeName: 'refund', input: null, schedule: { afterMs: 5 } })
          // @ts-expect-error declared, but not as what follows an order
          await continueWith({ typeName: 'deliver', input: { at: 1 } })
          // @ts-expect-error not declared at all
          await continueWith({ typeName: 'sail', input: { at: 1 } })
          // @ts-expect-error the input of the other one
          await continueWith({ typeName: 'ship', input: null })
          // @ts-expect-error no input
          await continueWith({ typeName: 'ship' })
          const either = job.failures > 0 ? 'ship' : 'refund'
          // @ts-expect-error one of two
          await continueWith({ typeName: either, input: null })
          return continueWith({ typeName: 'ship', input: { address: job.input.orderId } })
        }),
    },
    plan: {
      process: async ({ job, complete }) =>
        complete(async ({ continueWith }) => {
          // @ts-expect-error its input is not of the shape
          await continueWith({ typeName: 'ship', input: { address: '' } })
          return continueWith({ typeName: 'deliver', input: { at: job.input.day } })
        }),
    },
  },
})

// ── 7. What ends a chain, and what goes on ───────────────────────────────────────────────────────────────────────────

export const point7 = createInProcessWorker({
  storage,
  jobTypeRegistry,
  jobTypeProcessors: {
    ship: {
      process: async ({ job, complete, signal }) => {
        // @ts-expect-error it only continues
        if (signal.aborted) return complete('shipped')
        // @ts-expect-error it only continues
        if (job.attempt > 1) return complete(async () => 'shipped')
        return complete(({ continueWith }) => continueWith({ typeName: 'deliver', input: { at: 5 } }))
      },
    },
    deliver: {
      process: async ({ job, complete }) => {
        if (job.attempt > 1) {
          return complete(({ continueWith }) => {
            // @ts-expect-error it only ends
            return continueWith({ typeName: 'ship', input: { address: '' } })
          })
        }
        // @ts-expect-error another output
        if (job.attempt > 2) return complete('lost')
        // @ts-expect-error another output
        if (job.attempt > 3) return complete(async () => 'lost')
        // @ts-expect-error nothing
        if (job.attempt > 4) return complete(async () => {})
        if (job.attempt > 5) return complete(() => 'delivered')
        // `as const`: the compiler widens a literal that is all an async callback returns.
        if (job.attempt > 6) return complete(async () => 'delivered' as const)
        return complete('delivered')
      },
    },
  },
})

// ── 8. A handler returns what complete() gives ───────────────────────────────────────────────────────────────────────

export const point8 = createInProcessWorker({
  storage,
  jobTypeRegistry,
  jobTypeProcessors: {
    deliver: { process: ({ complete }) => complete('delivered') },
    order: {
      process: async ({ job, complete }) => {
        if (job.attempt === 1) return snooze({ delayMs: 5 })
        if (job.attempt === 2) return fail('no')
        if (job.attempt === 3) return rescheduleJob({ afterMs: 5 })
        if (job.attempt === 4) return failJob()
        // @ts-expect-error a directive is no output
        if (job.attempt === 5) return complete(async () => snooze({ delayMs: 5 }))
        return complete(({ continueWith }) => continueWith({ typeName: 'refund', input: null }))
      },
    },
    // @ts-expect-error nothing
    fetch: { process: async ({ complete }) => void (await complete({ body: '' })) },
    // @ts-expect-error an error that is no directive
    plan: { process: async () => new Error('no') },
    // @ts-expect-error the output itself
    count: { process: async () => 5 },
    // @ts-expect-error the completion of another type
    refund: { process: async ({ complete }) => (await complete(null)) as unknown as Completion<'order'> },
  },
})

// ── 10. Blockers and the chain, seen from the job ────────────────────────────────────────────────────────────────────

export const point10 = createInProcessWorker({
  storage,
  jobTypeRegistry,
  jobTypeProcessors: {
    report: {
      process: async ({ job, complete }) => {
        const [page, words, ...others] = job.blockers
        same<typeof page.output, { body: string }>()
        same<typeof words.output, number>()
        // @ts-expect-error the output of the other slot
        void words.output.body
        // @ts-expect-error the output of the other slot
        void job.blockers[0].output.toFixed()
        for (const other of others) if (other.typeName === 'fetch') same<typeof other.output, { body: string }>()
        return complete(page.output.body + words.output.toFixed())
      },
    },
    deliver: {
      process: async ({ job, complete }) => {
        same<typeof job.chainTypeName, 'order' | 'plan'>()
        if (job.chainTypeName === 'order') return complete('delivered')
        // @ts-expect-error no chain of that type comes here
        if (job.chainTypeName === 'fetch') return complete('delivered')
        // @ts-expect-error it has no blockers
        void job.blockers[0].output
        return complete('delivered')
      },
    },
  },
})
