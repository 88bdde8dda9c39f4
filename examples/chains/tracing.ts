// node --conditions=@holdfast/source examples/chains/tracing.ts
//
// One trace through a chain and the chains that its handlers start, by a middleware. The trace context (W3C traceparent) is stored with
// a job and passed to its continuations. The middleware makes a span of each attempt, as a child of the stored context, and the
// handler runs in that span. With OpenTelemetry the same lines are propagation.extract(), tracer.startActiveSpan() and
// propagation.inject(); otel() of holdfast/telemetry has them.

import { AsyncLocalStorage } from 'node:async_hooks'
import { randomBytes } from 'node:crypto'
import {
  createClient,
  createInProcessWorker,
  defineJobTypes,
  type JobAttemptMiddleware,
  type TraceContext,
} from 'holdfast/chains'
import { SqliteStorage } from 'holdfast/sqlite'

// ── tracing ──────────────────────────────────────────────────────────────────────────────────────────────────────────

interface Span {
  readonly name: string
  readonly traceId: string
  readonly spanId: string
  readonly parentId: string | undefined
}

const spans: Span[] = []
const active = new AsyncLocalStorage<Span>()

async function inSpan<R>(name: string, parent: TraceContext | undefined, run: () => Promise<R>): Promise<R> {
  // version-traceId-spanId-flags
  const [, traceId = randomBytes(16).toString('hex'), parentId] = parent?.traceparent.split('-') ?? []
  const span: Span = { name, traceId, spanId: randomBytes(8).toString('hex'), parentId }
  spans.push(span)
  return active.run(span, run)
}

function activeContext(): TraceContext | undefined {
  const span = active.getStore()
  return span && { traceparent: `00-${span.traceId}-${span.spanId}-01` }
}

/** Fits every worker. `next` resolves after the commit. */
const traced: JobAttemptMiddleware = ({ job }, next) => inSpan(`run ${job.typeName}`, job.traceContext, next)

// ── the program ──────────────────────────────────────────────────────────────────────────────────────────────────────

const storage = new SqliteStorage({ path: ':memory:' })
const jobTypeRegistry = defineJobTypes<{
  order: { entry: true; input: string; continueWith: { typeName: 'ship' } }
  ship: { input: string; output: string }
  mail: { entry: true; input: string; output: null }
}>()
const client = await createClient({ storage, jobTypeRegistry })
const mails: { readonly typeName: 'mail'; readonly id: string }[] = []

const worker = await createInProcessWorker({
  storage,
  jobTypeRegistry,
  jobAttemptMiddlewares: [traced],
  jobTypeProcessors: {
    order: {
      process: async ({ job, complete }) =>
        complete(async ({ continueWith, tx }) => {
          // A separate chain: its trace context is given here.
          mails.push(
            await client.startJobChain({ typeName: 'mail', input: job.input, traceContext: activeContext(), tx }),
          )
          return continueWith({ typeName: 'ship', input: job.input })
        }),
    },
    ship: { process: async ({ job, complete }) => complete(`shipped ${job.input}`) },
    mail: { process: async ({ complete }) => complete(null) },
  },
})
await worker.start()

const chain = await inSpan('POST /orders', undefined, () =>
  client.startJobChain({ typeName: 'order', input: 'order-1', traceContext: activeContext() }),
)
console.log((await client.waitForJobChainCompletion(chain, { timeoutMs: 10_000 })).output)
for (const mail of mails) await client.waitForJobChainCompletion(mail, { timeoutMs: 10_000 })
await worker.stop()
await client.close()

const nameOf = (id: string | undefined): string => spans.find(({ spanId }) => spanId === id)?.name ?? 'none'
for (const { name, parentId } of spans.toSorted((a, b) => a.name.localeCompare(b.name))) {
  console.log(`${name}: child of ${nameOf(parentId)}`)
}
console.log(`traces: ${new Set(spans.map(({ traceId }) => traceId)).size}`)
