// prometheus(): the metrics of this process and of its storage, as an endpoint that Prometheus scrapes.

import type { Admin } from '../admin/admin.ts'
import { createAdmin } from '../admin/create-admin.ts'
import { type Clock, systemClock } from '../clock.ts'
import { sharedOptions } from '../engine/options.ts'
import { resolveOptions, type Table } from '../resolve-options.ts'
import type { Storage } from '../storage/storage.ts'
import { version } from '../version.ts'
import { exposition, expositionType } from './metrics/exposition.ts'
import { measureProcess } from './metrics/measure.ts'
import { ProcessTotals } from './metrics/process-totals.ts'
import { StorageGauges } from './metrics/storage-gauges.ts'
import { TypeLabels } from './metrics/type-labels.ts'

/** Options of prometheus(). */
export interface PrometheusOptions {
  /** Storage whose jobs and workers are counted, at most once in 5 s. @default none: the metrics of this process alone */
  readonly storage?: Storage | undefined
  /** Source of local time; a `fakeClock()` in tests. @default the system's */
  readonly clock?: Clock | undefined
}

/** Answers a scrape. It checks no permission: mount it where only your Prometheus can ask. */
export interface PrometheusHandler extends AsyncDisposable {
  (request: Request): Promise<Response>
  /** Ends the counting, and disconnects. Never rejects. */
  close(): Promise<void>
}

const prometheusOptions = {
  storage: sharedOptions.storage,
  clock: sharedOptions.clock,
} as const satisfies Table

/**
 * Makes a handler of requests that answers with the metrics of all faces. Counting begins with this call: make it before the first job
 * is added.
 * @throws TypeError INVALID_ARGUMENT
 */
export function prometheus(options?: PrometheusOptions): PrometheusHandler {
  const { storage, clock = systemClock } = resolveOptions('prometheus', options, prometheusOptions)
  const totals = new ProcessTotals()
  const types = new TypeLabels()
  const admin: Admin | undefined = storage && createAdmin({ storage, clock })
  const counts = admin && new StorageGauges(admin, types, clock)
  const stopMeasuring = measureProcess(totals, types, () => clock.now())
  const handler = async (request: Request): Promise<Response> => {
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      return new Response(null, { status: 405, headers: { allow: 'GET, HEAD' } })
    }
    const body = exposition(totals, (await counts?.samples()) ?? [], version)
    const headers = { 'content-type': expositionType, 'cache-control': 'no-store' }
    return new Response(request.method === 'HEAD' ? null : body, { headers })
  }
  const close = async (): Promise<void> => {
    stopMeasuring()
    await admin?.close()
  }
  return Object.assign(handler, { close, [Symbol.asyncDispose]: close })
}
