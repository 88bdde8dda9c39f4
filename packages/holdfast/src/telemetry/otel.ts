// OpenTelemetry: spans and metrics of every face, through the API that the application has installed. Only the part that is called is typed
// here.

import { createAdmin } from '../admin/create-admin.ts'
import { systemClock } from '../clock.ts'
import { sharedOptions } from '../engine/options.ts'
import { installTracing, type Span, type SpanOptions, type TraceContext, type Tracing } from '../engine/tracing.ts'
import { invalidArgument } from '../errors.ts'
import { isBoolean } from '../option-checks.ts'
import { resolveOptions, type Table } from '../resolve-options.ts'
import type { Storage } from '../storage/storage.ts'
import { type BaggageApi, baggageBy, type CarriedBaggage, noBaggage } from './baggage.ts'
import { measureProcess } from './metrics/measure.ts'
import { observeStorage, type OtelMeter, OtelRecorder } from './metrics/otel-metrics.ts'
import { StorageGauges } from './metrics/storage-gauges.ts'
import { TypeLabels } from './metrics/type-labels.ts'

export interface OtelSpan {
  spanContext(): {
    readonly traceId: string
    readonly spanId: string
    readonly traceFlags: number
    readonly traceState?: { serialize(): string }
  }
  addLink?(link: { context: { traceId: string; spanId: string; traceFlags: number } }): unknown
  setAttributes(attributes: Record<string, string | number>): unknown
  recordException(error: Error): unknown
  setStatus(status: { code: number; message?: string }): unknown
  end(): void
}

/** What is used of `@opentelemetry/api`. */
export interface OtelApi<Context, ApiSpan extends OtelSpan, State> {
  readonly ROOT_CONTEXT: Context
  readonly SpanKind: { readonly INTERNAL: number; readonly PRODUCER: number; readonly CONSUMER: number }
  readonly SpanStatusCode: { readonly ERROR: number }
  readonly context: { active(): Context; with<R>(context: Context, run: () => R): R }
  readonly trace: {
    getTracer(name: string): {
      startSpan(
        name: string,
        options: { kind: number; attributes?: Record<string, string | number> },
        context: Context,
      ): ApiSpan
    }
    setSpan(context: Context, span: ApiSpan): Context
    setSpanContext(
      context: Context,
      spanContext: { traceId: string; spanId: string; traceFlags: number; isRemote: boolean; traceState?: State },
    ): Context
  }
  /** Absent: there are spans, and no metrics. */
  readonly metrics?: { getMeter(name: string): OtelMeter }
  createTraceState(text: string): State
  /** Absent: jobs carry no baggage. */
  readonly propagation?: BaggageApi<Context>
}

/** Options of otel(). */
export interface OtelOptions<Context, ApiSpan extends OtelSpan, State> {
  /** `import * as api from '@opentelemetry/api'` */
  readonly api: OtelApi<Context, ApiSpan, State>
  /** Storage whose jobs and workers are counted for gauges, at most once in 5 s. @default none: the metrics of this process alone */
  readonly storage?: Storage | undefined
  /**
   * How the span of an attempt relates to that of its add: its child, in a trace of its own with a link, or not at all. With `none`, jobs
   * carry no trace. @default 'child'
   */
  readonly propagation?: Propagation | undefined
  /**
   * Whether jobs carry the baggage that is active at their add (W3C Baggage, at most 8,192 characters), so that it is active in their handlers,
   * in any process. It is stored with each job. @default false
   */
  readonly baggage?: boolean | undefined
}

/** How an attempt joins the trace of its add. */
export type Propagation = 'child' | 'link' | 'none'

const propagations: readonly Propagation[] = ['child', 'link', 'none']

const otelOptions = {
  api: { check: isApi },
  storage: sharedOptions.storage,
  propagation: { default: 'child', check: isPropagation },
  baggage: { default: false, check: isBoolean },
} as const satisfies Table

/**
 * Makes spans and metrics for the queues, chains and tasks of this process: `send <type>` for an add, `process <type>` for each attempt. An
 * add continues the active span; an attempt continues its add, in any process.
 *
 *     import * as api from '@opentelemetry/api'
 *     otel({ api })
 *
 * @returns a function that removes it again
 * @throws TypeError INVALID_ARGUMENT
 */
export function otel<Context, ApiSpan extends OtelSpan, State>(
  options: OtelOptions<Context, ApiSpan, State>,
): () => void {
  const { api, storage, propagation, baggage } = resolveOptions('otel', options, otelOptions)
  isApi('api', api)
  const ends = [
    installTracing(tracingOf(api, propagation, baggage ? baggageBy(api) : noBaggage())),
    metricsOf(api, storage),
  ]
  return () => ends.forEach((end) => end())
}

function metricsOf({ metrics }: { readonly metrics?: { getMeter(name: string): OtelMeter } }, storage?: Storage) {
  if (!metrics) return () => {}
  const types = new TypeLabels()
  const meter = (): OtelMeter => metrics.getMeter('holdfast')
  const ends = [measureProcess(new OtelRecorder(meter), types, () => systemClock.now())]
  if (storage) {
    const admin = createAdmin({ storage })
    ends.push(observeStorage(meter(), new StorageGauges(admin, types, systemClock)), () => void admin.close())
  }
  return () => ends.forEach((end) => end())
}

function tracingOf<Context, ApiSpan extends OtelSpan, State>(
  api: OtelApi<Context, ApiSpan, State>,
  propagation: Propagation,
  baggage: CarriedBaggage<Context>,
): Tracing {
  const kinds = { internal: api.SpanKind.INTERNAL, producer: api.SpanKind.PRODUCER, consumer: api.SpanKind.CONSUMER }
  const contextOf = (trace: TraceContext | undefined): Context => {
    const parsed = trace && parse(trace.traceparent)
    if (!parsed) return api.context.active()
    const { tracestate } = trace
    const traceState = tracestate === undefined ? undefined : api.createTraceState(tracestate)
    return api.trace.setSpanContext(api.ROOT_CONTEXT, { ...parsed, isRemote: true, traceState })
  }
  return {
    start(name: string, { kind, attributes, parent }: SpanOptions): Span {
      const begins = kind === 'consumer' && propagation !== 'child'
      const own = begins ? api.ROOT_CONTEXT : contextOf(parent)
      const context = parent ? baggage.restored(own, parent.baggage) : own
      // Asked for each time: a provider may be registered later.
      const tracer = api.trace.getTracer('holdfast')
      const span = tracer.startSpan(name, { kind: kinds[kind], attributes: { ...attributes } }, context)
      const link = (to: TraceContext): void => {
        const linked = parse(to.traceparent)
        if (linked) span.addLink?.({ context: linked })
      }
      if (begins && propagation === 'link' && parent) link(parent)
      return {
        traceContext: propagation === 'none' ? undefined : written(span, baggage.textOf(context)),
        link,
        setAttributes: (more) => void span.setAttributes({ ...more }),
        run: (run) => api.context.with(api.trace.setSpan(context, span), run),
        end(error) {
          if (error !== undefined) {
            const message = error instanceof Error ? error.message : String(error)
            span.recordException(error instanceof Error ? error : new Error(message))
            span.setStatus({ code: api.SpanStatusCode.ERROR, message })
          }
          span.end()
        },
      }
    },
  }
}

function isApi(name: string, value: unknown): void {
  const api = value as { trace?: unknown; context?: unknown } | null | undefined
  if (typeof api?.trace !== 'object' || typeof api.context !== 'object') {
    throw invalidArgument(name, "the exports of '@opentelemetry/api' (import * as api)", value)
  }
}

function isPropagation(name: string, value: unknown): void {
  if (!propagations.includes(value as Propagation)) throw invalidArgument(name, "'child', 'link' or 'none'", value)
}

const noTraceId = '0'.repeat(32)

/** W3C traceparent: version, trace, span, flags. Undefined: nothing is recorded. */
function written(span: OtelSpan, baggage: string | undefined): TraceContext | undefined {
  const { traceId, spanId, traceFlags, traceState } = span.spanContext()
  if (traceId === noTraceId) return undefined
  const traceparent = `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`
  const tracestate = traceState?.serialize()
  return { traceparent, ...(tracestate && { tracestate }), ...(baggage && { baggage }) }
}

function parse(traceparent: string): { traceId: string; spanId: string; traceFlags: number } | undefined {
  const found = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})/.exec(traceparent)
  if (!found) return undefined
  const [, traceId, spanId, flags] = found as unknown as [string, string, string, string]
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) }
}
