// Counts completions where they are recorded: in the server's replies to the peer's own client. For peers without an event
// for it, or with an event that comes earlier.

/** The number of completions that a statement recorded, by its text and reply. */
export type Recorded = (text: string, answer: { rowCount: number | null; rows: readonly unknown[] }) => number

type Query = (this: unknown, ...args: unknown[]) => unknown

let recorded: Recorded | undefined
let onCompleted: () => void = () => {}
let isWatching = false

/** Watches all clients of this process until the next call. */
export async function watchRecords(count: Recorded, completed: () => void): Promise<void> {
  recorded = count
  onCompleted = completed
  if (isWatching) return
  isWatching = true
  const { default: pg } = await import('pg')
  const prototype = pg.Client.prototype as { query: Query }
  const plain = prototype.query
  prototype.query = function (...args) {
    const [query] = args
    const text = typeof query === 'string' ? query : (query as { text?: unknown } | undefined)?.text
    if (typeof text !== 'string') return Reflect.apply(plain, this, args)
    const last = args.at(-1)
    if (typeof last === 'function') {
      const heeding = (error: unknown, answer: never): void => {
        Reflect.apply(last, undefined, [error, answer])
        if (!error) countReply(text, answer)
      }
      return Reflect.apply(plain, this, [...args.slice(0, -1), heeding])
    }
    const answer = Reflect.apply(plain, this, args) as Promise<never>
    answer.then(
      (found) => countReply(text, found),
      () => {},
    )
    return answer
  }
}

function countReply(text: string, answer: Parameters<Recorded>[1]): void {
  for (let left = recorded!(text, answer); left > 0; left--) onCompleted()
}
