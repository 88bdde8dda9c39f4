// What the compiler guarantees of job chains: what is read, and completed without a worker. Never run: `npm run types` checks it.
// A line after `@ts-expect-error` must be an error; the correct lines around it must not be.

import { type CompletedJobChain, type JobChainOf, type JobOf } from 'holdfast/chains'
import type { SqliteTransaction } from 'holdfast/sqlite'
import { client, same, type Types } from './shop.ts'

// ── 9. A chain's output, once it is there ────────────────────────────────────────────────────────────────────────────

export async function point9(): Promise<void> {
  const chain = await client.getJobChain({ typeName: 'order', id: 'o-1' })
  // @ts-expect-error it may be null
  void chain.state
  if (!chain) return
  // @ts-expect-error not completed yet
  void chain.output
  if (chain.state === 'completed') same<typeof chain.output, { total: number } | 'delivered' | null>()
  if (chain.state === 'failed') same<typeof chain.error.message, string>()
  // @ts-expect-error a failed chain has no output
  if (chain.state === 'failed') void chain.output
  const ended = await client.waitForJobChainCompletion(chain, { timeoutMs: 1_000 })
  same<typeof ended, CompletedJobChain<Types, 'order'>>()
  same<typeof ended.output, { total: number } | 'delivered' | null>()
  same<CompletedJobChain<Types, 'plan'>['output'], 'delivered'>()
  same<CompletedJobChain<Loop, 'tick'>['output'], 'stopped'>()
  const page = await client.listJobChains({ filter: { typeName: ['fetch'], state: ['completed'], rootOnly: true } })
  same<(typeof page.items)[number], JobChainOf<Types, 'fetch'>>()
  // @ts-expect-error no state of that name
  await client.listJobChains({ filter: { state: ['done'] } })
}

interface Loop {
  tick: { entry: true; input: null; continueWith: { typeName: 'tock' } }
  tock: { input: null; output: 'stopped'; continueWith: { typeName: 'tick' } }
}

// ── 11. Completing without a worker ──────────────────────────────────────────────────────────────────────────────────

export async function point11(): Promise<void> {
  const ended = await client.completeJobChain({
    typeName: 'fetch',
    id: 'f',
    complete: ({ job, complete }) => complete(job, async () => ({ body: job.input.url })),
  })
  same<typeof ended, CompletedJobChain<Types, 'fetch'>>()

  const perhaps = await client.completeJobChain({
    typeName: 'order',
    id: 'o-1',
    complete: async ({ job, complete, tx: own }) => {
      same<typeof own, SqliteTransaction>()
      same<typeof job, JobOf<Types, 'order' | 'ship' | 'deliver' | 'refund'>>()
      // @ts-expect-error which of the four?
      await complete(job, async () => null)
      // @ts-expect-error no job of this chain
      await complete({ id: 'f', typeName: 'fetch' }, async () => null)
      if (job.typeName !== 'order') return undefined
      // @ts-expect-error another type's output
      await complete(job, async () => 'delivered' as const)
      // @ts-expect-error it does not follow
      await complete(job, ({ continueWith }) => continueWith({ typeName: 'deliver', input: { at: 1 } }))
      const next = await complete(job, ({ continueWith }) => continueWith({ typeName: 'ship', input: { address: '' } }))
      same<typeof next, JobOf<Types, 'ship'>>()
      const last = await complete(next, ({ continueWith }) => continueWith({ typeName: 'deliver', input: { at: 1 } }))
      return complete(last, async () => 'delivered' as const)
    },
  })
  same<typeof perhaps, JobChainOf<Types, 'order'>>()
  // @ts-expect-error perhaps it was not completed
  void perhaps.output

  const continued = await client.completeJobChain({
    typeName: 'order',
    id: 'o-1',
    complete: async ({ job, complete }) => {
      if (job.typeName !== 'order') throw new Error('too late')
      return complete(job, ({ continueWith }) => continueWith({ typeName: 'refund', input: null }))
    },
  })
  same<typeof continued, JobChainOf<Types, 'order'>>()
}
