// Requests to the server of this dashboard.

import { type Answer, type Failure, tokenHeader } from '../../shared/api.ts'
import { after, monotonic } from '../lib/clock.ts'
import { hrefOf } from './location.ts'
import { session } from './session.ts'

/** What the server, or the way to it, answered instead of data. */
export class ApiError extends Error {
  readonly code: string

  constructor({ code, error }: Failure) {
    super(error)
    this.name = 'ApiError'
    this.code = code
  }
}

export async function get<T>(of: string): Promise<Answer<T>> {
  return (await request(of, {})) as Answer<T>
}

/** A write is sent once per so many ms, and not while it is under way: a double click is one. */
const doubleClickMs = 700
const sent = new Map<string, Promise<unknown>>()

/** The same write again, by a double click, has the answer of the first. */
export function post<T>(of: string, body: object): Promise<T> {
  const text = JSON.stringify(body)
  const key = `${of} ${text}`
  const known = sent.get(key)
  if (known) return known as Promise<T>
  const headers = { 'content-type': 'application/json', [tokenHeader]: session.peek()?.token ?? '' }
  const startedAt = monotonic()
  const answer = request(of, { method: 'POST', headers, body: text })
  const forget = (): void => {
    after(Math.max(0, doubleClickMs - (monotonic() - startedAt)), () => sent.delete(key))
  }
  sent.set(key, answer)
  answer.then(forget, forget)
  return answer as Promise<T>
}

async function request(of: string, init: RequestInit): Promise<unknown> {
  let response: Response
  try {
    response = await fetch(hrefOf(`/api/${of}`), { ...init, credentials: 'same-origin' })
  } catch {
    throw new ApiError({ code: 'OFFLINE', error: 'The server does not answer.' })
  }
  const text = await response.text()
  try {
    const value = parse(text)
    if (response.ok) return value
    throw new ApiError(value as Failure)
  } catch (error) {
    if (error instanceof ApiError) throw error
    throw new ApiError({
      code: 'NO_JSON',
      error: `The server answered ${response.status} without JSON. A proxy may have answered.`,
    })
  }
}

/** Fields that may be Infinity, for which JSON has no word. */
const unlimited = new Set(['limit', 'concurrency', 'maxWaiting', 'freesAt'])

export function parse(text: string): unknown {
  return JSON.parse(text, (key, value: unknown) => (value === 'Infinity' && unlimited.has(key) ? Infinity : value))
}
