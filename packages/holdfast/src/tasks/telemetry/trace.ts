// Spans of tasks, by what `otel()` of holdfast/telemetry installed, or by an OpenTelemetry API that traceTasks() was given. An enqueue is
// a span, and each attempt is a child span of it, also in another process: the message carries the trace.

import {
  installedTracing,
  traceContextOf,
  type Span as EngineSpan,
  type SpanAttributes,
  type SpanOptions,
  type TraceContext,
  type Tracing,
} from '../../engine/tracing.ts'
import type { TaskFailure } from './events.ts'

type Attributes = Record<string, string | number>

interface Span {
  setAttributes(attributes: Attributes): unknown
  setStatus(status: { code: number; message?: string }): unknown
  recordException(error: Error): void
  end(): void
}

/** The exports of `@opentelemetry/api` that are used. Contexts are the API's own, and opaque here. */
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
const kinds = { internal: 0, producer: 3, consumer: 4 } as const
const failedStatus = 2

let own: Tracing | undefined

/**
 * Makes a span of each enqueue and each attempt, for all tasks of this process: `traceTasks(opentelemetry)`, with all exports of
 * `@opentelemetry/api`. Neither keys nor payloads are in the spans. It takes the place of `otel()` for tasks.
 * @returns a function that ends it
 */
export function traceTasks(opentelemetry: TracingApi): () => void {
  const tracing = tracingBy(opentelemetry)
  own = tracing
  return () => {
    if (own === tracing) own = undefined
  }
}

/** The span of an attempt, for the steps of the attempt. */
export interface AttemptSpan {
  failed(reason: TaskFailure, error: unknown): void
}

/** @param send receives the trace that the messages carry */
export async function inEnqueueSpan<T>(
  about: { readonly task: string; readonly queue: string; readonly count: number },
  send: (trace: TraceContext | undefined) => Promise<T>,
): Promise<T> {
  const tracing = own ?? installedTracing()
  if (!tracing) return send(undefined)
  const { task, queue, count } = about
  const attributes = { ...shared(task, queue), 'messaging.batch.message_count': count }
  const span = tracing.start(`send ${task}`, { kind: 'producer', attributes })
  try {
    const answer = await span.run(() => send(span.traceContext))
    span.end()
    return answer
  } catch (error) {
    span.end(error)
    throw error
  }
}

/** @param run what it throws goes to the queue alone: the attempt reports its failures to the span by itself */
export async function inAttemptSpan<T>(
  about: {
    readonly task: string
    readonly queue: string
    readonly id: string
    readonly attempt: number
    readonly trace: TraceContext | undefined
  },
  run: (span: AttemptSpan | undefined) => Promise<T>,
): Promise<T> {
  const tracing = own ?? installedTracing()
  if (!tracing) return run(undefined)
  const { task, queue, id, attempt, trace: parent } = about
  const attributes = { ...shared(task, queue), 'messaging.message.id': id, 'holdfast.attempt': attempt }
  const span = tracing.start(`process ${task}`, { kind: 'consumer', attributes, parent })
  let failure: { readonly error: unknown } | undefined
  const reported: AttemptSpan = {
    failed(reason, error) {
      span.setAttributes({ 'holdfast.reason': reason })
      failure = { error }
    },
  }
  try {
    return await span.run(() => run(reported))
  } finally {
    span.end(failure ? (failure.error ?? String(failure.error)) : undefined)
  }
}

const shared = (task: string, queue: string): SpanAttributes => {
  return { 'messaging.system': 'holdfast', 'messaging.destination.name': queue, 'holdfast.task': task }
}

function tracingBy(api: TracingApi): Tracing {
  return {
    start(name: string, { kind, attributes, parent }: SpanOptions): EngineSpan {
      const active = api.context.active()
      const context = parent ? api.propagation.extract(active, parent) : active
      const given = { kind: kinds[kind], attributes: { ...attributes } }
      const span = api.trace.getTracer('holdfast').startSpan(name, given, context)
      const inside = api.trace.setSpan(context, span)
      const carrier: Partial<TraceContext> = {}
      api.propagation.inject(inside, carrier)
      return {
        traceContext: traceContextOf(carrier),
        link: () => {},
        setAttributes: (more) => void span.setAttributes({ ...more }),
        run: (run) => api.context.with(inside, run),
        end(error) {
          if (error !== undefined) fail(span, error)
          span.end()
        },
      }
    },
  }
}

function fail(span: Span, error: unknown): void {
  const message = error instanceof Error ? error.message : String(error)
  if (error instanceof Error) span.recordException(error)
  span.setStatus({ code: failedStatus, message })
}
