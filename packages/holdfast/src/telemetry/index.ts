// holdfast/telemetry: metrics for Prometheus, and traces and metrics through the OpenTelemetry that the application has installed.

import '../node-version.ts'

export type { EngineEvent } from '../engine/events.ts'
export type { OtelMeter } from './metrics/otel-metrics.ts'
export { otel, type OtelApi, type OtelOptions, type OtelSpan, type Propagation } from './otel.ts'
export { prometheus, type PrometheusHandler, type PrometheusOptions } from './prometheus.ts'
