// Spans of tasks, with the SDK of OpenTelemetry.

import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import * as opentelemetry from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { MemoryStorage } from 'holdfast'
import { createTasks, type MessageQueue, StorageMessageQueue, traceTasks } from 'holdfast/tasks'
import { until } from '../queue/driver.ts'
import { anything, withoutFlags } from './fakes.ts'

const { SpanKind, SpanStatusCode } = opentelemetry
const exporter = new InMemorySpanExporter()
let untrace: () => void

opentelemetry.trace.setGlobalTracerProvider(
  new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }),
)
opentelemetry.context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
opentelemetry.propagation.setGlobalPropagator(new W3CTraceContextPropagator())
const tracer = opentelemetry.trace.getTracer('app')

beforeEach(() => {
  exporter.reset()
  untrace = traceTasks(opentelemetry)
})
afterEach(() => untrace())

const spans = (name: string) => exporter.getFinishedSpans().filter((span) => span.name === name)

/** Enqueues inside a span of the application. The first run fails, and each run makes a span inside its own. */
async function story(queue: MessageQueue): Promise<void> {
  const tasks = createTasks({ queue, taskRetryPolicy: () => 0 })
  let runs = 0
  const mail = tasks.defineTask('mail', {
    schema: anything(),
    handler: () =>
      tracer.startActiveSpan('smtp', async (span) => {
        span.end()
        if (++runs === 1) throw new Error('busy')
      }),
  })
  await tracer.startActiveSpan('request', async (span) => {
    await tasks.enqueueTask(mail, 'secret', { orderingKey: 'hidden' })
    span.end()
  })
  await tasks.start()
  await until(() => spans('process mail').length === 2)
  await tasks.stop()
}

for (const [name, over] of [
  ['a storage’s queue', (queue: StorageMessageQueue): MessageQueue => queue],
  ['a foreign queue', withoutFlags],
] as const) {
  test(`over ${name} each attempt is a consumer span, child of the enqueue’s, and the handler runs inside it`, async (t) => {
    const queue = new StorageMessageQueue(new MemoryStorage())
    t.after(() => queue.close())
    await story(over(queue))
    const [request] = spans('request')
    const [enqueue] = spans('send mail')
    const attempts = spans('process mail')
    assert.equal(enqueue!.kind, SpanKind.PRODUCER)
    assert.equal(enqueue!.parentSpanContext?.spanId, request!.spanContext().spanId)
    for (const attempt of attempts) {
      assert.equal(attempt.kind, SpanKind.CONSUMER)
      assert.equal(attempt.parentSpanContext?.spanId, enqueue!.spanContext().spanId)
      assert.equal(attempt.spanContext().traceId, request!.spanContext().traceId)
    }
    assert.deepEqual(
      spans('smtp').map((span) => span.parentSpanContext?.spanId),
      attempts.map((span) => span.spanContext().spanId),
    )
    const [first, second] = attempts
    assert.deepEqual(first!.status, { code: SpanStatusCode.ERROR, message: 'busy' })
    assert.equal(first!.attributes['holdfast.reason'], 'handler')
    assert.deepEqual(
      first!.events.map((event) => event.name),
      ['exception'],
    )
    assert.equal(second!.status.code, SpanStatusCode.UNSET)
    assert.deepEqual([first!.attributes['holdfast.attempt'], second!.attributes['holdfast.attempt']], [1, 2])
    assert.doesNotMatch(JSON.stringify([enqueue, ...attempts].map((span) => span!.attributes)), /secret|hidden/)
  })
}

test('a span is never named by a message, and an enqueue that fails is recorded', async (t) => {
  const queue = new StorageMessageQueue(new MemoryStorage())
  t.after(() => queue.close())
  const tasks = createTasks({ queue, taskRetryPolicy: () => null })
  const mail = tasks.defineTask('mail', { schema: anything(), handler: () => {} })
  await assert.rejects(tasks.enqueueTask(mail, () => {}))
  assert.equal(spans('send mail')[0]!.status.code, SpanStatusCode.ERROR)
  await queue.enqueue({
    v: 1,
    type: 'holdfast.task',
    id: '1',
    task: 'named by the message',
    data: '',
    enqueuedAt: 0,
    attempt: 1,
  })
  await tasks.start()
  await until(() => spans('process unknown').length === 1)
  await tasks.stop()
  assert.equal(spans('process unknown')[0]!.attributes['holdfast.reason'], 'unknown_task')
})

test('without traceTasks there are no spans, and messages carry no trace', async (t) => {
  untrace()
  const queue = new StorageMessageQueue(new MemoryStorage())
  t.after(() => queue.close())
  const sent: unknown[] = []
  const recording: MessageQueue = {
    ...withoutFlags(queue),
    enqueue: async (message) => void sent.push(message),
  }
  const tasks = createTasks({ queue: recording })
  const mail = tasks.defineTask('mail', { schema: anything(), handler: () => {} })
  await tasks.enqueueTask(mail, 1)
  assert.equal('trace' in (sent[0] as object), false)
  assert.deepEqual(exporter.getFinishedSpans(), [])
})
