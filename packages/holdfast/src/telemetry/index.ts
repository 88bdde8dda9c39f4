// holdfast/telemetry: traces, through the library that the application has installed.

import '../node-version.ts'

export type { EngineEvent } from '../engine/events.ts'
export { otel, type OtelApi, type OtelOptions, type OtelSpan } from './otel.ts'
