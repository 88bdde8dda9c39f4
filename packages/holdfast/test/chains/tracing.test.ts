// Spans of chains, with OpenTelemetry's own SDK (specs/chains.md 3.10).

import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { test } from 'node:test'
import * as api from '@opentelemetry/api'
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base'
import { MemoryStorage } from 'holdfast'
import { defineJobTypes } from 'holdfast/chains'
import { otel } from 'holdfast/telemetry'
import { until } from '../queue/driver.ts'
import { chainBench, wait } from './bench.ts'

const types = defineJobTypes<{
  part: { entry: true; input: number; output: number }
  whole: { entry: true; input: null; continueWith: { typeName: 'rest' }; blockers: [{ typeName: 'part' }] }
  rest: { input: null; output: null }
}>()

const active = new AsyncLocalStorage<api.Context>()
const manager: api.ContextManager = {
  active: () => active.getStore() ?? api.ROOT_CONTEXT,
  with: (context, run, self, ...args) => active.run(context, () => run.apply(self, args)),
  bind: (_, target) => target,
  enable: () => manager,
  disable: () => manager,
}
api.context.setGlobalContextManager(manager)
const exporter = new InMemorySpanExporter()
api.trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }))
const driver = { name: 'memory', open: async () => ({ storage: new MemoryStorage(), close: async () => {} }) }

const spanNamed = (name: string, index = 0): ReadableSpan =>
  exporter.getFinishedSpans().filter((span) => span.name === name)[index]!
const idOf = (span: ReadableSpan): string => span.spanContext().spanId
const parentOf = (span: ReadableSpan): string | undefined => span.parentSpanContext?.spanId

test('starts and continuations are producer spans, attempts consumer spans with prepare and complete as children', async (t) => {
  t.after(otel({ api }))
  exporter.reset()
  const { client, work } = await chainBench(t, driver, types)
  await work({
    part: { process: async ({ job, complete }) => complete(job.input) },
    whole: {
      process: async ({ prepare, complete }) => {
        await prepare({ mode: 'staged' })
        return complete(async ({ continueWith }) => continueWith({ typeName: 'rest', input: null }))
      },
    },
    rest: { process: async ({ complete }) => complete(null) },
  })
  const request = api.trace.getTracer('test').startSpan('POST /orders')
  const whole = await api.context.with(api.trace.setSpan(api.ROOT_CONTEXT, request), () =>
    client.startJobChain({
      typeName: 'whole',
      input: null,
      startBlockers: async ({ startJobChain }) => [await startJobChain({ typeName: 'part', input: 1 })],
    }),
  )
  request.end()
  await client.waitForJobChainCompletion(whole, wait)
  await until(() => spanNamed('process rest') !== undefined)

  const [sent, ran] = [spanNamed('send whole'), spanNamed('process whole')]
  assert.equal(parentOf(sent), request.spanContext().spanId)
  assert.equal(whole.traceContext!.traceparent.split('-')[2], idOf(sent))
  assert.deepEqual([sent.kind, ran.kind], [api.SpanKind.PRODUCER, api.SpanKind.CONSUMER])
  assert.equal(parentOf(ran), idOf(sent))
  assert.equal(parentOf(spanNamed('prepare whole')), idOf(ran))
  assert.equal(parentOf(spanNamed('complete whole')), idOf(ran))
  assert.equal(parentOf(spanNamed('send rest')), idOf(spanNamed('complete whole')))
  const rest = spanNamed('process rest')
  assert.equal(parentOf(rest), idOf(spanNamed('send rest')))
  // Links to the blocker and to the job before it.
  assert.deepEqual(
    [ran.links, rest.links].map((links) => links.map(({ context }) => context.spanId)),
    [[idOf(spanNamed('send part'))], [idOf(sent)]],
  )
  const traces = exporter.getFinishedSpans().map((span) => span.spanContext().traceId)
  assert.equal(new Set(traces).size, 1)
})

test('a given trace context is stored unchanged; each attempt is a span, with its error', async (t) => {
  t.after(otel({ api }))
  exporter.reset()
  const { client, work } = await chainBench(t, driver, types)
  await work({
    part: {
      process: async ({ job, complete }) => {
        if (job.attempt === 1) throw new Error('boom')
        return complete(job.input)
      },
    },
  })
  const traceContext = { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`, tracestate: 'x=1' }
  const part = await client.startJobChain({ typeName: 'part', input: 1, traceContext })
  assert.deepEqual(part.traceContext, traceContext)
  await client.waitForJobChainCompletion(part, wait)
  await until(() => spanNamed('process part', 1) !== undefined)
  const [failed, completed] = [spanNamed('process part'), spanNamed('process part', 1)]
  assert.deepEqual([failed.status.code, failed.status.message], [api.SpanStatusCode.ERROR, 'boom'])
  assert.equal(completed.status.code, api.SpanStatusCode.UNSET)
  for (const span of [failed, completed, spanNamed('send part')]) {
    assert.deepEqual([parentOf(span), span.spanContext().traceId], ['b'.repeat(16), 'a'.repeat(32)])
  }
})

test('without telemetry nothing is stored or recorded', async (t) => {
  const uninstall = otel({ api })
  uninstall()
  exporter.reset()
  const { client, work } = await chainBench(t, driver, types)
  await work({ part: { process: async ({ job, complete }) => complete(job.input) } })
  const request = api.trace.getTracer('test').startSpan('request')
  const part = await api.context.with(api.trace.setSpan(api.ROOT_CONTEXT, request), () =>
    client.startJobChain({ typeName: 'part', input: 1 }),
  )
  await client.waitForJobChainCompletion(part, wait)
  assert.equal(part.traceContext, undefined)
  assert.deepEqual(exporter.getFinishedSpans(), [])
})
