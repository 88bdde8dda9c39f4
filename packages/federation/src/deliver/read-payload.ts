// Step 1: the payload must be a JSON object with an allowed method.

import type { FederationContext } from '../context.ts'
import { isObject } from '../wire/v1/schema.ts'
import { followDecision } from '../wire/v1/bodies.ts'
import { endAndForget } from './end.ts'
import type { Delivery } from './delivery.ts'

/** Returns the method. An error does not quote the payload, which is the content of a message. */
export async function readPayload({ context, data }: Delivery): Promise<string> {
  const body = parse(data.payload)
  if (body === undefined) {
    const malformed = 'delivery: the payload is not a JSON object. Nothing was sent. Correct the data of the job.'
    throw await endAndForget(context, data.deliveryJobId, 'PAYLOAD_MALFORMED', malformed)
  }
  const { method } = body
  if (typeof method !== 'string' || !isAllowed(context, method)) {
    const allowed = context.policies.methods.join(', ')
    const message = `delivery: the method of the payload is not one of ${allowed}. Nothing was sent. See policies.methods.`
    throw await endAndForget(context, data.deliveryJobId, 'METHOD_INVALID', message)
  }
  return method
}

export const isAllowed = ({ policies }: Pick<FederationContext, 'policies'>, method: string): boolean =>
  policies.methods.includes(method) || method === followDecision

/** Returns the method of a payload for a log line, or `unknown`. */
export function methodOf(payload: unknown): string {
  const method = parse(payload)?.['method']
  // A method that is not a plain name may be content.
  return typeof method === 'string' && /^[A-Z][A-Z0-9_]{0,63}$/.test(method) ? method : 'unknown'
}

function parse(payload: unknown): Readonly<Record<string, unknown>> | undefined {
  if (typeof payload !== 'string') return undefined
  try {
    const value: unknown = JSON.parse(payload)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}
