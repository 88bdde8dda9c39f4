// Responses with the headers that every one of them has.

/** Nothing but own scripts and styles; no inline code, no frames, no other base, no forms. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const securityHeaders = {
  'content-security-policy': contentSecurityPolicy,
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
}

/** Node.js has no name for it. */
type ResponseBody = ConstructorParameters<typeof Response>[0]

export function respond(body: ResponseBody, status: number, headers: Readonly<Record<string, string>> = {}): Response {
  return new Response(body, { status, headers: { 'cache-control': 'no-store', ...securityHeaders, ...headers } })
}

export function jsonResponse(value: unknown, status = 200): Response {
  return respond(toJson(value), status, { 'content-type': 'application/json; charset=utf-8' })
}

/** JSON has no Infinity, which limits use: it becomes a text that the app turns back. */
export function toJson(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) => {
    if (part === Infinity) return 'Infinity'
    return typeof part === 'bigint' ? String(part) : part
  })
}
