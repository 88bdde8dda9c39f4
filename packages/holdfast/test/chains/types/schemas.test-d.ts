// What the compiler guarantees of job chains: job types declared by schemas. Never run: `npm run types` checks it.
// A line after `@ts-expect-error` must be an error; the correct lines around it must not be.

import { type Client, createInProcessWorker, defineJobTypes, type DefinitionsOf } from 'holdfast/chains'
import * as v from 'valibot'
import { memory, same } from './shop.ts'

// ── 14. Schemas ─────────────────────────────────────────────────────────────────────────────────────────────────────

const schemas = defineJobTypes({
  mail: {
    entry: true,
    // Given as text, read as a number.
    input: v.object({ to: v.string(), size: v.pipe(v.string(), v.transform(Number)) }),
    output: v.pipe(v.number(), v.transform(String)),
    continueWith: { typeName: ['bounce', 'archive'] },
  },
  bounce: { input: v.object({ reason: v.string() }), output: v.literal('bounced') },
  archive: { input: v.null(), continueWith: { input: v.object({ reason: v.string() }) } },
  digest: {
    entry: true,
    input: v.null(),
    output: v.null(),
    blockers: [{ typeName: 'note' }, { typeName: 'mail', many: true }],
  },
  note: { entry: true, input: v.null(), output: v.boolean() },
})

type SchemaTypes = DefinitionsOf<typeof schemas>

export async function point14(mails: Client<SchemaTypes>): Promise<void> {
  const chain = await mails.startJobChain({ typeName: 'mail', input: { to: 'ada', size: '5' } })
  same<typeof chain.input, { to: string; size: number }>()
  if (chain.state === 'completed') same<typeof chain.output, string | 'bounced'>()
  // @ts-expect-error what handlers see, not what is handed in
  await mails.startJobChain({ typeName: 'mail', input: { to: 'ada', size: 5 } })
  // @ts-expect-error no entry type
  await mails.startJobChain({ typeName: 'bounce', input: { reason: '' } })
  await mails.startJobChain({
    typeName: 'digest',
    input: null,
    blockers: [{ typeName: 'note', id: 'n' }, chain, chain],
  })
  await mails.startJobChain({ typeName: 'digest', input: null, blockers: [{ typeName: 'note', id: 'n' }] })
  // @ts-expect-error the order is another
  await mails.startJobChain({ typeName: 'digest', input: null, blockers: [chain, { typeName: 'note', id: 'n' }] })

  await createInProcessWorker({
    storage: memory,
    jobTypeRegistry: schemas,
    jobTypeProcessors: {
      mail: {
        process: async ({ job, complete }) => {
          same<typeof job.input, { to: string; size: number }>()
          // @ts-expect-error what comes out, not what is handed in
          if (job.attempt > 1) return complete('5')
          if (job.attempt > 2) return complete(job.input.size)
          return complete(({ continueWith }) => continueWith({ typeName: 'archive', input: null }))
        },
      },
      archive: {
        process: async ({ complete }) =>
          complete(async ({ continueWith }) => {
            // @ts-expect-error its input is not of the shape
            await continueWith({ typeName: 'note', input: null })
            return continueWith({ typeName: 'bounce', input: { reason: 'old' } })
          }),
      },
    },
  })

  // @ts-expect-error continueWith an undeclared type
  defineJobTypes({ a: { entry: true, input: v.null(), continueWith: { typeName: 'b' } } })
  // @ts-expect-error one of several
  defineJobTypes({ a: { entry: true, input: v.null(), continueWith: { typeName: ['a', 'b'] } } })
  // @ts-expect-error neither output nor continueWith
  defineJobTypes({ a: { entry: true, input: v.null() } })
  // @ts-expect-error a blocker that starts no chain
  defineJobTypes({ a: { input: v.null(), output: v.null(), blockers: [{ typeName: 'a' }] } })
  // @ts-expect-error an input that may be undefined
  defineJobTypes({ a: { entry: true, input: v.optional(v.string()), output: v.null() } })
  // @ts-expect-error no schema
  defineJobTypes({ a: { entry: true, input: 5, output: v.null() } })
  // @ts-expect-error an unknown property
  defineJobTypes({ a: { entry: true, input: v.null(), output: v.null(), blocker: [] } })
}
