// Spans of tasks, by an OpenTelemetry API that the caller passes. Only the part that is used is declared. An enqueue is a span, and
// each attempt is a child span of it, also in another process: the message carries the trace.

import type { TaskFailure } from './events.ts'

type Attributes = Record<string, string | number>

interface Span {
  setAttributes(attributes: Attributes): unknown
  setStatus(status: { code: number; message?: string }): unknown
  recordException(error: Error): void
  end(): void
}

/** The exports of `@opentelemetry/api`. Contexts are the API's own, and opaque here. */
export interface TracingApi {
  readonly trace: {
    getTracer(name: string): {
      startSpan(name: string, options?: { kind?: number; attributes?: Attributes }, context?: any): Span
    }
    setSpan(context: any, span: any): any
  }
  readonly context: { active(): any; with(context: any, run: () => any): any }
  readonly propagation: { inject(context: any, carrier: object): void; extract(context: any, carrier: object): any }
}

/** Numbers of OpenTelemetry: span kinds, and the status code of an error. */
const [producer, consumer, failed] = [3, 4, 2]

let api: TracingApi | undefined

/**
 * Makes a span of each enqueue and each attempt, for all tasks of this process: `traceTasks(opentelemetry)`, with all exports of
 * `@opentelemetry/api`. Neither keys nor payloads are in the spans.
 * @returns a function that ends it
 */
export function traceTasks(opentelemetry: TracingApi): () => void {
  api = opentelemetry
  return () => {
    if (api === opentelemetry) api = undefined
  }
}

/** The span of an attempt, for the steps of the attempt. */
export interface AttemptSpan {
  failed(reason: TaskFailure, error: unknown): void
}

/** @param send receives the trace that the messages carry */
export async function inEnqueueSpan<T>(
  about: { readonly task: string; readonly queue: string; readonly count: number },
  send: (trace: string | undefined) => Promise<T>,
): Promise<T> {
  const tracing = api
  if (!tracing) return send(undefined)
  const { task, queue, count } = about
  const span = start(tracing, `send ${task}`, producer, {
    ...shared(task, queue),
    'messaging.batch.message_count': count,
  })
  const inside = tracing.trace.setSpan(tracing.context.active(), span)
  const carrier: { traceparent?: unknown } = {}
  tracing.propagation.inject(inside, carrier)
  const trace = typeof carrier.traceparent === 'string' ? carrier.traceparent : undefined
  try {
    return await (tracing.context.with(inside, () => send(trace)) as Promise<T>)
  } catch (error) {
    fail(span, error)
    throw error
  } finally {
    span.end()
  }
}

/** @param run what it throws goes to the queue alone: the attempt reports its failures to the span by itself */
export async function inAttemptSpan<T>(
  about: {
    readonly task: string
    readonly queue: string
    readonly id: string
    readonly attempt: number
    readonly trace: string | undefined
  },
  run: (span: AttemptSpan | undefined) => Promise<T>,
): Promise<T> {
  const tracing = api
  if (!tracing) return run(undefined)
  const { task, queue, id, attempt, trace } = about
  const active = tracing.context.active()
  const parent = trace === undefined ? active : tracing.propagation.extract(active, { traceparent: trace })
  const attributes = { ...shared(task, queue), 'messaging.message.id': id, 'holdfast.attempt': attempt }
  const span = start(tracing, `process ${task}`, consumer, attributes, parent)
  const reported: AttemptSpan = {
    failed(reason, error) {
      span.setAttributes({ 'holdfast.reason': reason })
      fail(span, error)
    },
  }
  try {
    return await (tracing.context.with(tracing.trace.setSpan(parent, span), () => run(reported)) as Promise<T>)
  } finally {
    span.end()
  }
}

const shared = (task: string, queue: string): Attributes => {
  return { 'messaging.system': 'holdfast', 'messaging.destination.name': queue, 'holdfast.task': task }
}

function start({ trace }: TracingApi, name: string, kind: number, attributes: Attributes, parent?: unknown): Span {
  return trace.getTracer('holdfast').startSpan(name, { kind, attributes }, parent)
}

function fail(span: Span, error: unknown): void {
  const message = error instanceof Error ? error.message : String(error)
  if (error instanceof Error) span.recordException(error)
  span.setStatus({ code: failed, message })
}
