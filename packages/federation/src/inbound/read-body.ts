// Reads the body of a request as JSON: as a stream, with a size limit and a deadline.

import type { Clock } from 'holdfast'
import { parseJson } from '../wire/v1/json.ts'
import { refuse } from './refusal.ts'

export interface BodyLimits {
  readonly clock: Clock
  readonly maxBytes: number
  readonly timeoutMs: number
}

/** @throws Refusal PAYLOAD_TOO_LARGE, REQUEST_TIMEOUT, REQUEST_BROKEN_OFF, ENCODING_NOT_SUPPORTED, INVALID_JSON */
export async function readJson(request: Request, limits: BodyLimits): Promise<unknown> {
  const encoding = request.headers.get('content-encoding')
  if (encoding !== null && encoding.toLowerCase() !== 'identity') {
    throw refuse('ENCODING_NOT_SUPPORTED', 'the body must not be compressed')
  }
  // A body whose declared length exceeds the limit is not read at all.
  if (Number(request.headers.get('content-length')) > limits.maxBytes) {
    await request.body?.cancel().catch(() => {})
    throw tooLarge(limits)
  }
  const json = parseJson(textOf(await readBytes(request, limits)))
  if (!json) throw refuse('INVALID_JSON', 'the body is not JSON, is nested too deeply, or has a field __proto__')
  return json.value
}

async function readBytes(request: Request, limits: BodyLimits): Promise<Uint8Array> {
  if (!request.body) return new Uint8Array()
  const reader = (request.body as ReadableStream<Uint8Array>).getReader()
  const chunks: Uint8Array[] = []
  let length = 0
  let isLate = false
  const timer = limits.clock.after(limits.timeoutMs, () => {
    isLate = true
    reader.cancel().catch(() => {})
  })
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((cause: unknown) => {
        throw refuse('REQUEST_BROKEN_OFF', 'the body ended early', { cause })
      })
      if (isLate) throw refuse('REQUEST_TIMEOUT', `the body did not arrive within ${limits.timeoutMs} ms`)
      if (done) return Buffer.concat(chunks)
      length += value.byteLength
      if (length > limits.maxBytes) {
        reader.cancel().catch(() => {})
        throw tooLarge(limits)
      }
      chunks.push(value)
    }
  } finally {
    timer.cancel()
  }
}

const tooLarge = ({ maxBytes }: BodyLimits): Error =>
  refuse('PAYLOAD_TOO_LARGE', `the body is larger than ${maxBytes} bytes`)

function textOf(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw refuse('INVALID_JSON', 'the body is not UTF-8')
  }
}
