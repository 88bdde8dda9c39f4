// A filter for the replies of a Postgres server (Proxy.filterReplies): drops whole messages, wherever chunks begin and end.

/** Type of NotificationResponse, what a NOTIFY sends to a session that listens. */
export const notification = 'A'

/** Bytes of the type and the length. */
const headBytes = 5

/**
 * The filter of one connection without TLS. It passes on whole messages only.
 *
 * @param drops called for each message, by its type: whether it is dropped
 */
export function messageFilter(drops: (type: string) => boolean): (chunk: Buffer) => Buffer {
  let rest: Buffer = Buffer.alloc(0)
  return (chunk) => {
    const bytes = Buffer.concat([rest, chunk])
    const kept: Buffer[] = []
    let at = 0
    while (bytes.length >= at + headBytes) {
      const end = at + 1 + bytes.readInt32BE(at + 1)
      if (end > bytes.length) break
      if (!drops(String.fromCharCode(bytes[at]!))) kept.push(bytes.subarray(at, end))
      at = end
    }
    rest = bytes.subarray(at)
    return Buffer.concat(kept)
  }
}
