// Step 1: the payload is a JSON object, and its method one that may be sent.

import { isObject } from '../wire/v1/schema.ts'
import { endAndForget } from './end.ts'
import type { Delivery } from './delivery.ts'

/** Gives the method. What was found is not part of the error: it is the content of a message. */
export async function readPayload({ context, data }: Delivery): Promise<string> {
  const body = parse(data.payload)
  if (body === undefined) {
    throw await endAndForget(context, data.deliveryJobId, 'PAYLOAD_MALFORMED', 'the payload is no JSON object')
  }
  const { method } = body
  if (typeof method !== 'string' || !context.policies.methods.includes(method)) {
    const allowed = context.policies.methods.join(', ')
    const message = `the method of the payload is not one of ${allowed}`
    throw await endAndForget(context, data.deliveryJobId, 'METHOD_INVALID', message)
  }
  return method
}

/** For logs too: the method of a payload, whatever that is. */
export function methodOf(payload: unknown): string {
  const method = parse(payload)?.['method']
  // Anything else than a plain name may be content.
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
