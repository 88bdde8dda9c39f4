// Parses the bytes of a RESP2 connection into replies, however they are split into chunks.

export type Reply = string | number | null | RespError | Reply[]

/** An error reply of the server, e.g. `WRONGTYPE …`. Thrown by `send`; inside an array it is an element. */
export class RespError extends Error {
  override readonly name = 'RespError'
}

interface Parsed {
  readonly reply: Reply
  readonly end: number
}

export class RespParser {
  #bytes: Buffer = Buffer.alloc(0)

  /** Returns the replies that this chunk completes and keeps the rest. */
  take(chunk: Uint8Array): Reply[] {
    this.#bytes = Buffer.concat([this.#bytes, chunk])
    const replies: Reply[] = []
    let start = 0
    for (let next = parse(this.#bytes, start); next; next = parse(this.#bytes, start)) {
      replies.push(next.reply)
      start = next.end
    }
    this.#bytes = this.#bytes.subarray(start)
    return replies
  }
}

function parse(bytes: Buffer, start: number): Parsed | undefined {
  const lineEnd = bytes.indexOf('\r\n', start)
  if (lineEnd === -1) return undefined
  const line = bytes.toString('utf8', start + 1, lineEnd)
  const end = lineEnd + 2
  const kind = String.fromCharCode(bytes[start]!)
  switch (kind) {
    case '+':
      return { reply: line, end }
    case '-':
      return { reply: new RespError(line), end }
    case ':':
      return { reply: Number(line), end }
    case '$':
      return parseBulk(bytes, end, Number(line))
    case '*':
      return parseArray(bytes, end, Number(line))
    default:
      throw new Error(`RESP2: expected a reply, got "${kind}${line}"`)
  }
}

function parseBulk(bytes: Buffer, start: number, length: number): Parsed | undefined {
  if (length === -1) return { reply: null, end: start }
  const end = start + length
  if (bytes.length < end + 2) return undefined
  return { reply: bytes.toString('utf8', start, end), end: end + 2 }
}

function parseArray(bytes: Buffer, start: number, length: number): Parsed | undefined {
  if (length === -1) return { reply: null, end: start }
  const items: Reply[] = []
  let end = start
  for (let index = 0; index < length; index++) {
    const item = parse(bytes, end)
    if (!item) return undefined
    items.push(item.reply)
    end = item.end
  }
  return { reply: items, end }
}
