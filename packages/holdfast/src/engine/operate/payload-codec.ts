// How operations read and write payloads: with the serde of the queue, or with the value codec where no serde is known.

import type { Bytes } from '../../storage/storage.ts'
import { decode, encode, type Serde } from '../job/serde.ts'
import { ValueSerde } from '../job/values.ts'

export interface PayloadCodec {
  /** @throws SerializationError */
  decode(bytes: Bytes | undefined): unknown
  /** @throws SerializationError, TOO_LARGE */
  encode(payload: unknown): Bytes | undefined
}

export function payloadCodec<T>(serde: Serde<T>, maxBytes: number): PayloadCodec {
  return {
    decode: (bytes) => decode('payload', serde, bytes),
    encode: (payload) => encode('payload', serde, payload as T, maxBytes),
  }
}

/** For an operator, which has no serde. The limit is that of the face which added the job. */
export const valueCodec: PayloadCodec = payloadCodec(new ValueSerde<unknown>(), Infinity)
