// OpenTelemetry: spans of chains, through the API that the application has installed. Only the part that is called is typed here.

import type { TraceContext } from '../chains/types/records.ts'
import { installTracing, type Span, type SpanOptions, type Tracing } from '../chains/events/tracing.ts'

export interface OtelSpan {
  spanContext(): {
    readonly traceId: string
    readonly spanId: string
    readonly traceFlags: number
    readonly traceState?: { serialize(): string }
  }
  addLink?(link: { context: { traceId: string; spanId: string; traceFlags: number } }): unknown
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
  createTraceState(text: string): State
}

export interface OtelOptions<Context, ApiSpan extends OtelSpan, State> {
  /** `import * as api from '@opentelemetry/api'` */
  readonly api: OtelApi<Context, ApiSpan, State>
}

/**
 * Makes spans for the chains of this process: `send <type>` for a start and a continuation, `process <type>` for each attempt, with
 * `prepare <type>` and `complete <type>` as children. A start without a `traceContext` continues the active span.
 *
 *     import * as api from '@opentelemetry/api'
 *     otel({ api })
 *
 * @returns a function that removes it again
 */
export function otel<Context, ApiSpan extends OtelSpan, State>({
  api,
}: OtelOptions<Context, ApiSpan, State>): () => void {
  return installTracing(tracingOf(api))
}

function tracingOf<Context, ApiSpan extends OtelSpan, State>(api: OtelApi<Context, ApiSpan, State>): Tracing {
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
      const context = contextOf(parent)
      // Asked for each time: a provider may be registered later.
      const tracer = api.trace.getTracer('holdfast')
      const span = tracer.startSpan(name, { kind: kinds[kind], attributes: { ...attributes } }, context)
      return {
        traceContext: written(span),
        link(to) {
          const linked = parse(to.traceparent)
          if (linked) span.addLink?.({ context: linked })
        },
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

const noTraceId = '0'.repeat(32)

/** W3C traceparent: version, trace, span, flags. Undefined: nothing is recorded. */
function written(span: OtelSpan): TraceContext | undefined {
  const { traceId, spanId, traceFlags, traceState } = span.spanContext()
  if (traceId === noTraceId) return undefined
  const traceparent = `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`
  const tracestate = traceState?.serialize()
  return tracestate ? { traceparent, tracestate } : { traceparent }
}

function parse(traceparent: string): { traceId: string; spanId: string; traceFlags: number } | undefined {
  const found = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})/.exec(traceparent)
  if (!found) return undefined
  const [, traceId, spanId, flags] = found as unknown as [string, string, string, string]
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) }
}
