// Decrypts an envelope of an inbound request.

import { federationCodeOf } from '../errors.ts'
import { decryptPayload } from '../wire/v1/envelope.ts'
import type { Inbound } from './inbound.ts'
import { refuse } from './refusal.ts'

/** @throws Refusal DECRYPT_FAILED: the same for every reason */
export async function openEnvelope({ context, turns }: Inbound, sealed: unknown): Promise<string> {
  await turns.take()
  try {
    return await decryptPayload(sealed, context.keyring)
  } catch (cause) {
    if (federationCodeOf(cause) !== 'DECRYPT_FAILED') throw cause
    throw refuse('DECRYPT_FAILED', 'the envelope could not be decrypted')
  }
}
