// Who may send a write: the pages of this dashboard alone. A write is a POST of JSON, from the same origin, with the token of the
// session. A page of another site can send neither the content type nor the token without asking first, and nothing allows it.

import { createHmac, timingSafeEqual } from 'node:crypto'
import { tokenHeader } from '../../shared/api.ts'
import { forbidden, invalid, RequestError } from './errors.ts'

const largestBody = 262_144

/** The token of an actor. It changes with the secret, which a process makes at its start unless one is given. */
export function tokenFor(secret: string | Uint8Array, actor: string): string {
  return createHmac('sha256', secret).update(`holdfast dashboard\0${actor}`).digest('base64url')
}

/** @param hosts allowed names besides that of the request @throws RequestError 403 or 415 */
export function checkWrite(request: Request, token: string, hosts: readonly string[] | undefined): void {
  const { headers } = request
  const site = headers.get('sec-fetch-site')
  if (site !== null && site !== 'same-origin') {
    throw forbidden('CROSS_ORIGIN', `A write must come from the dashboard itself. The browser says that it is ${site}.`)
  }
  const origin = headers.get('origin')
  if (origin === null && site === null) {
    throw forbidden('CROSS_ORIGIN', 'A write must have the header Origin or Sec-Fetch-Site. Browsers send both.')
  }
  if (origin !== null && !isOwnOrigin(origin, request, hosts)) {
    throw forbidden('CROSS_ORIGIN', 'A write must come from the origin of the dashboard. This one names another.')
  }
  if (!isEqual(headers.get(tokenHeader) ?? '', token)) {
    throw forbidden('TOKEN', `The header ${tokenHeader} is missing or old. Reload the page.`)
  }
  if (!/^application\/json\s*(;|$)/i.test(headers.get('content-type') ?? '')) {
    throw new RequestError(415, 'CONTENT_TYPE', 'A write must be JSON: content-type application/json.')
  }
}

/** The scheme may differ, behind a proxy that ends TLS. The host must not. */
function isOwnOrigin(origin: string, request: Request, hosts: readonly string[] | undefined): boolean {
  if (!URL.canParse(origin)) return false
  const { host, hostname } = new URL(origin)
  return host === new URL(request.url).host || (hosts?.includes(hostname) ?? false)
}

function isEqual(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)]
  return a.length === b.length && timingSafeEqual(a, b)
}

/** The body as an object. @throws RequestError 400 or 413 */
export async function readBody(request: Request): Promise<Record<string, unknown>> {
  const tooLarge = (): RequestError => new RequestError(413, 'TOO_LARGE', `The body is above ${largestBody} bytes.`)
  if (Number(request.headers.get('content-length') ?? 0) > largestBody) throw tooLarge()
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of request.body ?? []) {
    length += chunk.byteLength
    if (length > largestBody) throw tooLarge()
    chunks.push(chunk)
  }
  let value: unknown
  try {
    value = JSON.parse(Buffer.concat(chunks).toString())
  } catch {
    throw invalid('The body is not JSON.')
  }
  if (value === null || typeof value !== 'object' || Array.isArray(value)) throw invalid('The body must be an object.')
  return value as Record<string, unknown>
}
