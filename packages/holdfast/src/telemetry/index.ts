// holdfast/telemetry: traces, through the library that the application has installed.

export { otel, type OtelApi, type OtelOptions, type OtelSpan } from './otel.ts'
