// otel() on a Queue, on tasks and on the meter, with the SDK of OpenTelemetry. Chains: test/chains/tracing.test.ts.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as api from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { MemoryStorage, Queue } from 'holdfast'
import { createTasks, StorageMessageQueue } from 'holdfast/tasks'
import { otel, type Propagation } from 'holdfast/telemetry'
import { baggageBy } from '../../src/telemetry/baggage.ts'
import { until } from '../queue/driver.ts'
import { anything } from '../tasks/fakes.ts'

const exporter = new InMemorySpanExporter()
api.trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }))
api.context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
const tracer = api.trace.getTracer('app')
const metricExporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
const reader = new PeriodicExportingMetricReader({ exporter: metricExporter, exportIntervalMillis: 2 ** 30 })
const provider = new MeterProvider({ readers: [reader] })
api.metrics.setGlobalMeterProvider(provider)
test.after(() => provider.shutdown())

const spans = (name: string) => exporter.getFinishedSpans().filter((span) => span.name === name)

/** Adds a job inside a span of the application. Its first run fails, and each run makes a span inside its own. */
async function story(name: string): Promise<void> {
  exporter.reset()
  const queue = new Queue<string>({ storage: new MemoryStorage(), name, backoff: 'none', maxAttempts: 2 })
  queue.execute((job) =>
    tracer.startActiveSpan('smtp', (span) => {
      span.end()
      if (job.attempts === 1) throw new Error('busy')
    }),
  )
  await queue.start()
  await tracer.startActiveSpan('request', async (span) => {
    await queue.enqueue('mail-1', 'secret', { group: 'hidden' })
    span.end()
  })
  await until(() => spans(`process ${name}`).length === 2)
  await queue.stop()
}

test('[F39] an add of a Queue is a producer span, each attempt its child, and the handler runs inside the attempt', async (t) => {
  t.after(otel({ api }))
  await story('mail')
  const [[request], [sent], attempts] = [spans('request'), spans('send mail'), spans('process mail')]
  assert.equal(sent!.kind, api.SpanKind.PRODUCER)
  assert.equal(sent!.parentSpanContext?.spanId, request!.spanContext().spanId)
  for (const attempt of attempts) {
    assert.equal(attempt.kind, api.SpanKind.CONSUMER)
    assert.equal(attempt.parentSpanContext?.spanId, sent!.spanContext().spanId)
  }
  assert.deepEqual(
    spans('smtp').map((span) => span.parentSpanContext?.spanId),
    attempts.map((span) => span.spanContext().spanId),
  )
  const [first, second] = attempts
  assert.deepEqual(first!.status, { code: api.SpanStatusCode.ERROR, message: 'busy' })
  assert.equal(second!.status.code, api.SpanStatusCode.UNSET)
  assert.deepEqual(
    attempts.map(({ attributes }) => attributes['holdfast.attempt']),
    [1, 2],
  )
  assert.equal(first!.attributes['messaging.message.id'], 'mail-1')
  assert.doesNotMatch(JSON.stringify(exporter.getFinishedSpans().map(({ attributes }) => attributes)), /secret|hidden/)
})

for (const propagation of ['link', 'none'] as const satisfies Propagation[]) {
  test(`[F39] propagation ${propagation}: an attempt has a trace of its own`, async (t) => {
    t.after(otel({ api, propagation }))
    await story('mail')
    const [sent] = spans('send mail')
    for (const attempt of spans('process mail')) {
      assert.notEqual(attempt.spanContext().traceId, sent!.spanContext().traceId)
      const links = attempt.links.map(({ context }) => context.spanId)
      assert.deepEqual(links, propagation === 'link' ? [sent!.spanContext().spanId] : [])
    }
  })
}

test('[F39] one span for enqueueMany; an add that fails ends its span with the error; without otel() there is none', async (t) => {
  exporter.reset()
  const queue = new Queue<number>({ storage: new MemoryStorage(), name: 'many' })
  t.after(() => queue.stop())
  await queue.enqueue('before', 1)
  t.after(otel({ api }))
  await queue.enqueueMany([
    { id: '1', payload: 1 },
    { id: '2', payload: 2 },
  ])
  await assert.rejects(queue.enqueue('2', 2, { onDuplicate: 'reject' }))
  const [sent, failed] = spans('send many')
  assert.equal(sent!.attributes['messaging.batch.message_count'], 2)
  assert.equal(failed!.status.code, api.SpanStatusCode.ERROR)
  assert.equal(spans('send many').length, 2)
})

test('[F39] otel() alone traces tasks, too', async (t) => {
  t.after(otel({ api }))
  exporter.reset()
  const queue = new StorageMessageQueue(new MemoryStorage())
  const tasks = createTasks({ queue })
  const task = tasks.defineTask('report', { schema: anything<number>(), handler: () => {} })
  await tasks.enqueueTask(task, 1)
  await tasks.start()
  await until(() => spans('process report').length === 1)
  await tasks.stop()
  await queue.close()
  assert.equal(spans('process report')[0]!.parentSpanContext?.spanId, spans('send report')[0]!.spanContext().spanId)
})

test('[F39] baggage: true carries the baggage of an add into handlers, also of tasks; without it none is stored', async (t) => {
  const entries = { 'user-id': { value: 'c-42, ünïcode=yes' }, plan: { value: 'pro' } }
  const withBaggage = api.propagation.setBaggage(api.ROOT_CONTEXT, api.propagation.createBaggage(entries))
  const seen: unknown[] = []
  const note = (): void => {
    const active = api.propagation.getActiveBaggage()
    seen.push(active && Object.fromEntries(active.getAllEntries().map(([name, { value }]) => [name, { value }])))
  }
  const storage = new MemoryStorage()
  const queue = new Queue<number>({ storage, name: 'carried' })
  queue.execute(note)
  const tasks = createTasks({ queue: new StorageMessageQueue(storage) })
  const task = tasks.defineTask('carried', { schema: anything<number>(), handler: note })
  await Promise.all([queue.start(), tasks.start()])
  t.after(() => Promise.all([queue.stop(), tasks.stop()]))
  const addBoth = (id: string): Promise<unknown> =>
    api.context.with(withBaggage, () => Promise.all([queue.enqueue(id, 1), tasks.enqueueTask(task, 1)]))

  const end = otel({ api })
  await addBoth('without')
  await until(() => seen.length === 2)
  end()
  t.after(otel({ api, baggage: true, propagation: 'link' }))
  await addBoth('with')
  await until(() => seen.length === 4)
  assert.deepEqual(seen, [undefined, undefined, entries, entries])
})

test('[F39] baggage that is too long is cut at an entry, and stored text that is none changes nothing', () => {
  const carried = baggageBy(api)
  const long = Object.fromEntries(Array.from({ length: 3 }, (_, place) => [`k${place}`, { value: 'x'.repeat(5_000) }]))
  const text = carried.textOf(api.propagation.setBaggage(api.ROOT_CONTEXT, api.propagation.createBaggage(long)))
  assert.equal(text, `k0=${'x'.repeat(5_000)}`)
  for (const hostile of ['', '=', '%', 'a=%E0%A4%A', 'no value', ',,;']) {
    assert.equal(carried.restored(api.ROOT_CONTEXT, hostile), api.ROOT_CONTEXT)
  }
  const restored = api.propagation.getBaggage(carried.restored(api.ROOT_CONTEXT, ' a = 1 ;p=2, __proto__=3'))
  assert.deepEqual(
    restored?.getAllEntries().map(([name, { value }]) => [name, value]),
    [
      ['a', '1'],
      ['__proto__', '3'],
    ],
  )
})

test('[F40] the meter has counters, histograms and, with a storage, gauges', async (t) => {
  const storage = new MemoryStorage()
  t.after(otel({ api, storage }))
  const queue = new Queue<number>({ storage, name: 'metered' })
  queue.execute(() => {})
  await queue.start()
  await queue.enqueueAndWait('1', 1)
  await queue.stop()
  await reader.forceFlush()
  const metrics = metricExporter
    .getMetrics()
    .at(-1)!
    .scopeMetrics.flatMap((scope) => scope.metrics)
  const values = (name: string): unknown[] =>
    metrics
      .filter(({ descriptor }) => descriptor.name === name)
      .flatMap(({ dataPoints }) => dataPoints as { attributes: Record<string, unknown>; value: unknown }[])
      .filter(({ attributes }) => attributes['holdfast.type'] === 'metered')
      .map(({ attributes, value }) => [attributes['holdfast.outcome'] ?? attributes['holdfast.state'], value])
  assert.deepEqual(values('holdfast.jobs.added'), [[undefined, 1]])
  assert.deepEqual(values('holdfast.jobs.settled'), [['completed', 1]])
  assert.deepEqual(
    values('holdfast.jobs').filter((point) => (point as unknown[])[0] === 'completed'),
    [['completed', 1]],
  )
  const [[, wait]] = values('holdfast.job.wait') as [[unknown, { count: number }]]
  assert.equal(wait.count, 1)
})

test('wrong options of otel() are refused', () => {
  assert.throws(() => otel({} as never), /api: expected the exports of '@opentelemetry\/api'/)
  assert.throws(() => otel({ api, propagation: 'parent' as never }), /'child', 'link' or 'none'/)
})
