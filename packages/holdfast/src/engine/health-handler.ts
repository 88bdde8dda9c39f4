// healthHandler(): an HTTP endpoint for the probes of Kubernetes and of load balancers.

import { asError } from '../error-details.ts'
import { invalidArgument } from '../errors.ts'
import { isCallable } from '../option-checks.ts'
import type { Health, HealthCode } from './health.ts'

/** Anything with a health: a Queue, a worker of chains, tasks, or one of your own. */
export interface HealthSource {
  health(): Health | Promise<Health>
}

/** A restart helps only against these. Without the storage, or before start(), it would only repeat the start. */
const restartHelps: ReadonlySet<HealthCode> = new Set(['claims_late'])

/**
 * Makes a handler of requests: 200 if every source is healthy, else 503, with the reasons as JSON.
 *
 * - `…/live`: whether a restart would help. 503 if claims do not come any more, or every slot is held by an abandoned handler.
 * - `…/ready`, and every other path: whether it works. 503 for any reason.
 * @throws TypeError INVALID_ARGUMENT for a source without health()
 */
export function healthHandler(...sources: readonly HealthSource[]): (request: Request) => Promise<Response> {
  for (const source of sources as readonly unknown[]) {
    if (source === null || typeof source !== 'object' || !isCallable(source, 'health')) {
      throw invalidArgument('healthHandler', 'sources with health(), such as a Queue', source)
    }
  }
  return async (request) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      return new Response(null, { status: 405, headers: { allow: 'GET, HEAD' } })
    }
    const checks = await Promise.all(sources.map(read))
    const { pathname } = new URL(request.url)
    const ok = checks.every(pathname.endsWith('/live') ? isAlive : ({ ok: isReady }) => isReady)
    const body = request.method === 'HEAD' ? null : JSON.stringify({ ok, checks })
    return new Response(body, {
      status: ok ? 200 : 503,
      headers: { 'content-type': 'application/json', 'cache-control': 'no-store' },
    })
  }
}

function isAlive({ reasons, slots, abandoned }: Health): boolean {
  if (slots > 0 && abandoned >= slots) return false
  return !reasons.some(({ code }) => restartHelps.has(code))
}

/** Never rejects: a source that throws is not healthy. */
async function read(source: HealthSource): Promise<Health> {
  try {
    return await source.health()
  } catch (thrown) {
    const sentence = `health() failed: ${asError(thrown).message}`
    return { ok: false, name: 'unknown', reasons: [{ code: 'failed', sentence }], slotsUsed: 0, slots: 0, abandoned: 0 }
  }
}
