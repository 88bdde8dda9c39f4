// What the compiler guarantees of job chains: transactions and other options. Never run: `npm run types` checks it.
// A line after `@ts-expect-error` must be an error; the correct lines around it must not be.

import {
  type Client,
  createClient,
  createInProcessWorker,
  type AttemptAbortedError,
  type JobAttemptMiddleware,
  type RunningJob,
} from 'holdfast/chains'
import type { SqliteTransaction } from 'holdfast/sqlite'
import {
  storage,
  memory,
  jobTypeRegistry,
  client,
  memoryClient,
  fetched,
  tx,
  foreignTx,
  same,
  type Types,
} from './shop.ts'

// ── 12. Transactions: where the storage has them, its own ────────────────────────────────────────────────────────────

export async function point12(): Promise<void> {
  const sqlite = await createClient({ storage, jobTypeRegistry })
  same<typeof sqlite, Client<Types, SqliteTransaction>>()
  const inMemory = await createClient({ storage: memory, jobTypeRegistry })
  same<typeof inMemory, Client<Types>>()

  await sqlite.startJobChain({ typeName: 'fetch', input: { url: '/' }, tx })
  await sqlite.getJobChain({ typeName: 'fetch', id: 'f', tx })
  await sqlite.startJobChains({ items: [], tx })
  // @ts-expect-error a memory storage has none
  await memoryClient.startJobChain({ typeName: 'fetch', input: { url: '/' }, tx })
  // @ts-expect-error a memory storage has none
  await memoryClient.getJob({ typeName: 'fetch', id: 'f', tx })
  // @ts-expect-error another driver's
  await sqlite.startJobChain({ typeName: 'fetch', input: { url: '/' }, tx: foreignTx })
  // @ts-expect-error one transaction for all, not one each
  await sqlite.startJobChains({ items: [{ typeName: 'fetch', input: { url: '/' }, tx }] })

  await createInProcessWorker({
    storage,
    jobTypeRegistry,
    jobTypeProcessors: {
      fetch: {
        process: async ({ job, prepare, complete }) => {
          const rows = await prepare({ mode: 'atomic' }, async ({ tx: own }) => [own])
          same<typeof rows, SqliteTransaction[]>()
          const nothing = await prepare({ mode: 'staged' })
          same<typeof nothing, void>()
          // @ts-expect-error no such mode
          await prepare({ mode: 'lazy' })
          // @ts-expect-error it was declined
          if (job.attempt > 1) return complete(({ tx: none }) => ({ body: String(none) }), { tx: false })
          if (job.attempt > 2) return complete(async () => ({ body: '' }), { tx: false })
          return complete(({ tx: own }) => {
            same<typeof own, SqliteTransaction>()
            return { body: job.input.url }
          })
        },
      },
    },
  })

  await createInProcessWorker({
    storage: memory,
    jobTypeRegistry,
    jobTypeProcessors: {
      fetch: {
        process: async ({ prepare, complete }) => {
          await prepare({ mode: 'staged' }, () => 5)
          // @ts-expect-error a memory storage has none
          await prepare({ mode: 'staged' }, ({ tx: none }) => none)
          // @ts-expect-error a memory storage has none
          return complete(async ({ tx: none }) => ({ body: String(none) }))
        },
      },
    },
  })
}

// ── 13. Options ──────────────────────────────────────────────────────────────────────────────────────────────────────

const anywhere: JobAttemptMiddleware = async ({ job, workerId }, next) => {
  same<typeof job.typeName, string>()
  same<typeof workerId, string>()
  const result = await next()
  if (result.outcome === 'continued') same<typeof result.job.id, string>()
  return result
}

const here: JobAttemptMiddleware<Types> = async ({ job }, next) => {
  same<typeof job, RunningJob<Types>>()
  if (job.typeName === 'order') same<typeof job.input, { orderId: string }>()
  return next()
}

export async function point13(): Promise<void> {
  await createInProcessWorker({
    storage,
    jobTypeRegistry,
    concurrency: 5,
    jobTypeProcessing: { jobAttemptMiddlewares: [anywhere, here], defaultRetryConfig: { maxAttempts: 5 } },
    jobTypeProcessors: {
      refund: { process: async ({ complete }) => complete(null), retryConfig: { jitter: 0 }, timeoutMs: 5 },
      // @ts-expect-error no type of that name
      sail: { process: async () => {} },
    },
  })
  await createInProcessWorker({
    storage,
    jobTypeRegistry,
    // @ts-expect-error an unknown option
    parallel: 5,
    jobTypeProcessors: {},
  })
  await createInProcessWorker({
    storage,
    jobTypeRegistry,
    jobTypeProcessors: {
      refund: {
        process: async ({ complete, signal }) => {
          same<typeof signal.reason, AttemptAbortedError | undefined>()
          if (signal.reason?.reason === 'taken_by_another_worker') return complete(null)
          // @ts-expect-error none of the seven
          if (signal.reason?.reason === 'bored') return complete(null)
          signal satisfies AbortSignal
          return complete(null)
        },
        // @ts-expect-error an unknown option
        retries: 5,
      },
    },
  })
  const undefinedNumber = undefined as number | undefined
  await createInProcessWorker({
    storage,
    jobTypeRegistry,
    maxAttempts: 3,
    backoff: { type: 'exponential', delayMs: 5 },
    leaseMs: 5_000,
    timeoutMs: undefinedNumber,
    pollMs: undefinedNumber,
    graceMs: undefinedNumber,
    logger: console,
    jobTypeProcessing: { pollMs: undefinedNumber, defaultTimeoutMs: undefinedNumber },
    jobTypeProcessors: {
      refund: {
        process: async ({ complete }) => complete(null),
        maxAttempts: 3,
        backoff: (attempt) => attempt * 5,
        leaseMs: undefinedNumber,
        timeoutMs: 5,
      },
    },
  })
  // @ts-expect-error an unknown option
  await createClient({ storage, jobTypeRegistry, prefix: 'x' })
  const fetch = { typeName: 'fetch', input: { url: '/' } } as const
  await client.startJobChain({ ...fetch, schedule: { afterMs: 5 } })
  await client.startJobChain({ ...fetch, schedule: { at: new Date() } })
  await client.startJobChain({ ...fetch, delayMs: 5 })
  const started = await client.startJobChain({ ...fetch, runAt: new Date(), delayMs: undefinedNumber })
  same<typeof started.status, 'added' | 'duplicate' | 'replaced'>()
  if (started.status === 'duplicate') same<typeof started.deduplicated, true>()
  // @ts-expect-error both
  await client.startJobChain({ ...fetch, schedule: { at: 5, afterMs: 5 } })
  // @ts-expect-error neither
  await client.startJobChain({ ...fetch, schedule: {} })
  // @ts-expect-error an unknown option
  await client.startJobChain({ ...fetch, delay: 5 })
  // @ts-expect-error no such strategy
  await client.startJobChain({ ...fetch, deduplication: { key: 'k', strategy: 'some' } })
  await client.startJobChain({ ...fetch, deduplication: { key: 'k', mode: 'debounce', windowMs: 5, maxWaitMs: 9 } })
  await client.startJobChain({ ...fetch, deduplication: { key: 'k', mode: 'followUp' } })
  await client.startJobChain({ ...fetch, deduplication: { key: 'k', mode: 'ascending', version: 1, ttlMs: 9 } })
  // @ts-expect-error either the mode or its alias
  await client.startJobChain({ ...fetch, deduplication: { key: 'k', mode: 'throttle', strategy: 'all' } })
  // @ts-expect-error a window is needed
  await client.startJobChain({ ...fetch, deduplication: { key: 'k', mode: 'debounce' } })
  // @ts-expect-error a version is needed
  await client.startJobChain({ ...fetch, deduplication: { key: 'k', mode: 'ascending' } })
  // @ts-expect-error an option of another mode
  await client.startJobChain({ ...fetch, deduplication: { key: 'k', mode: 'followUp', windowMs: 5 } })
  // @ts-expect-error a time out is needed
  await client.waitForJobChainCompletion(fetched, {})
}
