// holdfast/telemetry: traces, by the library that the application has.

import '../node-version.ts'
export { otel, type OtelApi, type OtelOptions, type OtelSpan } from './otel.ts'
