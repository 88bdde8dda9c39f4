// Spans around adds and attempts, and the trace context that goes with a job. No tracing library is imported here: `holdfast/telemetry`
// installs one for this process.

/** As W3C Trace Context has it. */
export interface TraceContext {
  readonly traceparent: string
  readonly tracestate?: string | undefined
  /** W3C Baggage, if it is asked for. */
  readonly baggage?: string | undefined
}

export type SpanAttributes = Readonly<Record<string, string | number>>

export interface SpanOptions {
  readonly kind: 'producer' | 'consumer' | 'internal'
  readonly attributes?: SpanAttributes
  /** @default the active one */
  readonly parent?: TraceContext | undefined
}

export interface Span {
  /** To be stored with a job. Undefined: nothing is recorded. */
  readonly traceContext: TraceContext | undefined
  link(to: TraceContext): void
  setAttributes(attributes: SpanAttributes): void
  /** Makes it the active span while `run` runs. */
  run<R>(run: () => R): R
  /** @param error why it failed */
  end(error?: unknown): void
}

export interface Tracing {
  start(name: string, options: SpanOptions): Span
}

let installed: Tracing | undefined

/** For this process, in place of what was installed before. @returns what uninstalls it */
export function installTracing(tracing: Tracing): () => void {
  installed = tracing
  return () => {
    if (installed === tracing) installed = undefined
  }
}

/** Undefined: no telemetry is installed. */
export const installedTracing = (): Tracing | undefined => installed

/** Its fields, without others. Undefined: it names no span. */
export function traceContextOf({ traceparent, tracestate, baggage }: Partial<TraceContext>): TraceContext | undefined {
  if (typeof traceparent !== 'string') return undefined
  return {
    traceparent,
    ...(typeof tracestate === 'string' && { tracestate }),
    ...(typeof baggage === 'string' && { baggage }),
  }
}

/** The form in which a job carries a trace context; the storage does not read it. */
export const encodeTraceContext = (trace: TraceContext | undefined): string | undefined =>
  trace && JSON.stringify(trace)

/** Undefined: the text has none. Never throws. */
export function decodeTraceContext(text: string | undefined): TraceContext | undefined {
  if (text === undefined) return undefined
  try {
    return traceContextOf(JSON.parse(text) as Partial<TraceContext>)
  } catch {
    return undefined
  }
}
