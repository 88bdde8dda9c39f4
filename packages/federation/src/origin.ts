// The canonical identity of a server. Every URL that names a server is made canonical here before it is stored, compared, hashed
// or blocked.

import { FederationError } from './errors.ts'

export interface OriginOptions {
  /** Allow the scheme `http:` besides `https:`. @default false */
  readonly allowHttp?: boolean
}

// The URL parser accepts, and hides, what must be refused here: white space, backslashes, an empty user info or query. So this
// pattern checks the text itself. After the scheme: the host and port, then the rest.
const url = /^https?:\/\/(?<authority>[^/?#@\\\p{Cc}\s]+)(?<rest>(?:[/?#][^\\\p{Cc}\s]*)?)$/iu
const maxHostLength = 253

/** Most origins that are remembered, by their text. A delivery makes the same few canonical ten times. */
const maxKnown = 4_096
const maxKnownLength = 300
const known = new Map<string, string>()

/**
 * Returns the one name of a server: `https://a.example` for `https://A.EXAMPLE:443/`.
 * @throws FederationError ORIGIN_INVALID: another scheme, user info, a path, a query, a fragment, a host with a trailing dot
 */
export function canonicalOrigin(text: string, options: OriginOptions = {}): string {
  const found = known.get(text)
  if (found !== undefined && (options.allowHttp === true || found.startsWith('https:'))) return found
  const origin = read(text, options, (rest) => rest === '' || rest === '/')
  // A port may have any number of zeros before it.
  if (text.length > maxKnownLength) return origin
  if (known.size >= maxKnown) known.clear()
  known.set(text, origin)
  return origin
}

/** Returns the canonical origin of a URL that may have a path and a query. @throws FederationError ORIGIN_INVALID */
export function originOfUrl(text: string, options: OriginOptions = {}): string {
  return read(text, options, () => true)
}

function read(text: unknown, { allowHttp = false }: OriginOptions, isRest: (rest: string) => boolean): string {
  const match = typeof text === 'string' ? url.exec(text) : null
  if (!match) throw invalid('is not an http(s) URL, or has user info')
  if (!isRest(match.groups?.['rest'] ?? '')) throw invalid('has a path, a query or a fragment')
  const parsed = URL.parse(match[0])
  if (!parsed) throw invalid('has no valid host or port')
  const { protocol, hostname, host } = parsed
  if (protocol !== 'https:' && !(allowHttp && protocol === 'http:'))
    throw invalid('is not https, and http.allowHttp is off')
  if (hostname.length > maxHostLength) throw invalid(`has a host of more than ${maxHostLength} characters`)
  if (hostname.split('.').includes('')) throw invalid('has a host with an empty label or a trailing dot')
  return `${protocol}//${host}`
}

// The message does not quote the URL: it may be long, or hold a secret.
function invalid(what: string): FederationError {
  return new FederationError(
    'ORIGIN_INVALID',
    `The URL of a server ${what}. Expected an origin such as https://a.example.`,
  )
}
