// What the compiler guarantees of job chains: what starts a chain. Never run: `npm run types` checks it.
// A line after `@ts-expect-error` must be an error; the correct lines around it must not be.

import { client, order, fetched, counted, same } from './shop.ts'

// ── 1. Only entry types start a chain ────────────────────────────────────────────────────────────────────────────────

export async function point1(): Promise<void> {
  const chain = await client.startJobChain({ typeName: 'order', input: { orderId: 'o-1' } })
  same<typeof chain.typeName, 'order'>()
  same<typeof chain.deduplicated, boolean>()
  // @ts-expect-error no entry type
  await client.startJobChain({ typeName: 'ship', input: { address: 'Quay 1' } })
  // @ts-expect-error no type of this name
  await client.startJobChain({ typeName: 'sail', input: { address: 'Quay 1' } })
  // @ts-expect-error a chain has the name of the type it starts with
  await client.getJobChain({ typeName: 'ship', id: 'o-1' })
  await client.getJob({ typeName: 'ship', id: 'o-1' })
}

// ── 2. The input is the type's ───────────────────────────────────────────────────────────────────────────────────────

export async function point2(either: 'order' | 'fetch'): Promise<void> {
  await client.startJobChain({ typeName: 'order', input: { orderId: 'o-1' }, priority: 5, id: 'x' })
  // @ts-expect-error a field of another type
  await client.startJobChain({ typeName: 'order', input: { orderId: 1 } })
  // @ts-expect-error another type's input
  await client.startJobChain({ typeName: 'order', input: { url: '/' } })
  // @ts-expect-error no input
  await client.startJobChain({ typeName: 'order' })
  // @ts-expect-error an unknown key
  await client.startJobChain({ typeName: 'order', input: { orderId: 'o-1', total: 5 } })
  // @ts-expect-error one of two types, whose inputs differ
  await client.startJobChain({ typeName: either, input: { url: '/' } })
}

// ── 3. Blockers: where declared, as declared, one way of giving them ─────────────────────────────────────────────────

export async function point3(): Promise<void> {
  const input = { title: 'June' }
  await client.startJobChain({ typeName: 'report', input, blockers: [fetched, counted] })
  await client.startJobChain({ typeName: 'report', input, blockers: [fetched, counted, order, fetched] })
  await client.startJobChain({ typeName: 'report', input, blockers: [{ typeName: 'fetch', id: 'f' }, counted] })
  await client.startJobChain({
    typeName: 'report',
    input,
    onBlockerFailure: 'wait',
    startBlockers: async ({ job, startJobChain }) => {
      same<typeof job.typeName, 'report'>()
      same<typeof job.input, { title: string }>()
      return [
        await startJobChain({ typeName: 'fetch', input: { url: job.input.title } }),
        await startJobChain({ typeName: 'count', input: { words: [] }, deduplication: { key: job.id } }),
        order,
      ]
    },
  })
  // @ts-expect-error missing
  await client.startJobChain({ typeName: 'report', input })
  // @ts-expect-error the type declares none
  await client.startJobChain({ typeName: 'fetch', input: { url: '/' }, blockers: [counted] })
  // @ts-expect-error the type declares none
  await client.startJobChain({ typeName: 'fetch', input: { url: '/' }, startBlockers: async () => [] })
  // @ts-expect-error the type declares none
  await client.startJobChain({ typeName: 'fetch', input: { url: '/' }, onBlockerFailure: 'wait' })
  // @ts-expect-error both
  await client.startJobChain({
    typeName: 'report',
    input,
    blockers: [fetched, counted],
    startBlockers: async () => [fetched, counted],
  })
  // @ts-expect-error too few
  await client.startJobChain({ typeName: 'report', input, blockers: [fetched] })
  // @ts-expect-error the order is another
  await client.startJobChain({ typeName: 'report', input, blockers: [counted, fetched] })
  // @ts-expect-error a type that the rest does not have
  await client.startJobChain({ typeName: 'report', input, blockers: [fetched, counted, counted] })
  // @ts-expect-error too few
  await client.startJobChain({ typeName: 'report', input, startBlockers: async () => [fetched] })
  // @ts-expect-error the order is another
  await client.startJobChain({ typeName: 'report', input, startBlockers: async () => [counted, fetched] })
  await client.startJobChain({
    typeName: 'report',
    input,
    startBlockers: async ({ startJobChain }) => {
      // @ts-expect-error it starts no chain
      await startJobChain({ typeName: 'deliver', input: { at: 1 } })
      return [fetched, counted]
    },
  })
}

// ── 14. Batches ──────────────────────────────────────────────────────────────────────────────────────────────────────

export async function batches(): Promise<void> {
  const [first, second, third] = await client.startJobChains({
    items: [
      { typeName: 'fetch', input: { url: '/' } },
      { typeName: 'count', input: { words: [] } },
      {
        typeName: 'report',
        input: { title: '' },
        startBlockers: async ({ startJobChain }) => [
          await startJobChain({ typeName: 'fetch', input: { url: '/' } }),
          counted,
        ],
      },
    ],
  })
  same<typeof first.typeName, 'fetch'>()
  same<typeof second.typeName, 'count'>()
  same<typeof third.typeName, 'report'>()
  if (second.state === 'completed') same<typeof second.output, number>()
  const many = await client.startJobChains({
    items: ['/a', '/b'].map((url) => ({ typeName: 'fetch' as const, input: { url } })),
  })
  same<(typeof many)[number]['typeName'], 'fetch'>()
  await client.startJobChains({
    items: [
      { typeName: 'count', input: { words: [] } },
      // @ts-expect-error the input of the first
      { typeName: 'fetch', input: { words: [] } },
      // @ts-expect-error it starts no chain
      { typeName: 'deliver', input: { at: 1 } },
    ],
  })
}
