// Foreign queues and stores that record their calls.

import type {
  KvKey,
  KvStore,
  MessageHandler,
  MessageQueue,
  MessageQueueEnqueueOptions,
  StandardSchemaV1,
  TaskEvent,
  Tasks,
} from 'holdfast/tasks'

/** Accepts every value. */
export const anything = <T = unknown>(): StandardSchemaV1<T, T> => schemaOf((value) => value as T)

export const schemaOf = <I, O>(make: (value: I) => O | Promise<O>): StandardSchemaV1<I, O> => ({
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: (value) => {
      const made = make(value as I)
      return made instanceof Promise ? made.then((output) => ({ value: output })) : { value: made }
    },
  },
})

/** Refuses every value that does not fit. */
export const only = <T>(fits: (value: T) => boolean): StandardSchemaV1<T, T> => ({
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: (value) => (fits(value as T) ? { value: value as T } : { issues: [{ message: 'does not fit' }] }),
  },
})

interface Sent {
  readonly verb: 'enqueue' | 'enqueueMany'
  readonly messages: readonly any[]
  readonly options: MessageQueueEnqueueOptions | undefined
}

export interface RecordingQueue extends MessageQueue {
  readonly sent: Sent[]
  /** Thrown by the next sends. */
  failure: Error | undefined
  /** Passes the first message that was sent and not handled yet to the listener. */
  deliver(): Promise<void>
}

/** A foreign queue, by default without any capability flag. */
export function recordingQueue(
  flags: Partial<Pick<MessageQueue, 'nativeDeduplication' | 'nativeRetrial' | 'atomicEnqueueMany'>> & {
    readonly many?: boolean
  } = {},
): RecordingQueue {
  const { many = true, ...own } = flags
  const sent: Sent[] = []
  const waiting: unknown[] = []
  let handler: MessageHandler | undefined
  const send = async (verb: Sent['verb'], messages: readonly unknown[], options?: MessageQueueEnqueueOptions) => {
    if (queue.failure) throw queue.failure
    sent.push({ verb, messages, options })
    waiting.push(...messages)
  }
  const queue: RecordingQueue = {
    ...own,
    sent,
    failure: undefined,
    enqueue: (message, options) => send('enqueue', [message], options),
    ...(many && { enqueueMany: (messages: readonly unknown[], options?) => send('enqueueMany', messages, options) }),
    listen: async (given, options) => {
      handler = given
      await new Promise<void>((resolve) => options!.signal!.addEventListener('abort', () => resolve()))
      handler = undefined
    },
    // Through JSON, as a real queue.
    deliver: async () => void (await handler!(JSON.parse(JSON.stringify(waiting.shift())))),
  }
  return queue
}

export interface RecordingKv extends KvStore {
  /** Each call: verb, key and arguments. */
  readonly calls: { readonly verb: string; readonly key: KvKey | undefined; readonly args: readonly unknown[] }[]
  readonly entries: Map<string, unknown>
  failure: Error | undefined
  /** Removes every entry, as its TTL does. */
  expire(): void
}

/** @param verbs the conditional writes that it has */
export function recordingKv(...verbs: readonly ('setIfAbsent' | 'cas')[]): RecordingKv {
  const entries = new Map<string, unknown>()
  const calls: RecordingKv['calls'] = []
  const at = (verb: string, key: KvKey | undefined, ...args: unknown[]): string => {
    calls.push({ verb, key, args })
    if (kv.failure) throw kv.failure
    return JSON.stringify(key)
  }
  const conditional: Pick<KvStore, 'setIfAbsent' | 'cas'> = {
    setIfAbsent: async (key, value, options) => {
      const name = at('setIfAbsent', key, value, options)
      if (entries.has(name)) return false
      entries.set(name, value)
      return true
    },
    cas: async (key, expected, next, options) => {
      const name = at('cas', key, expected, next, options)
      if (entries.get(name) !== expected) return false
      if (next === undefined) entries.delete(name)
      else entries.set(name, next)
      return true
    },
  }
  const kv: RecordingKv = {
    calls,
    entries,
    failure: undefined,
    expire: () => entries.clear(),
    get: async <T>(key: KvKey) => entries.get(at('get', key)) as T | undefined,
    set: async (key, value) => void entries.set(at('set', key, value), value),
    delete: async (key) => void entries.delete(at('delete', key)),
    async *list(prefix) {
      at('list', prefix)
      for (const [name, value] of entries) yield { key: JSON.parse(name) as KvKey, value }
    },
    ...Object.fromEntries(verbs.map((verb) => [verb, conditional[verb]])),
  }
  return kv
}

const fail = (): never => {
  throw new Error('the store was called')
}

/** A store that fails the test when it is called. */
export const untouchableKv = (): KvStore => ({
  get: fail,
  set: fail,
  delete: fail,
  setIfAbsent: fail,
  cas: fail,
  list: fail,
})

/** The storage's queue as a foreign one: no flags, no receipts. */
export function withoutFlags(queue: MessageQueue): MessageQueue {
  return {
    enqueue: async (message, options) => void (await queue.enqueue(message, options)),
    enqueueMany: async (messages, options) => void (await queue.enqueueMany!(messages, options)),
    listen: (handler, options) => queue.listen((message) => handler(message), options),
  }
}

/** Every event of these tasks, in order. */
export function recordEvents(tasks: Tasks): TaskEvent[] {
  const events: TaskEvent[] = []
  for (const name of [
    'enqueued',
    'deduplicated',
    'started',
    'completed',
    'retried',
    'failed',
    'cancelled',
    'rate_limited',
    'released',
  ] as const)
    tasks.on(name, (event) => events.push(event))
  return events
}

/** A logger that keeps its records. */
export function keepingLogger() {
  const records: { level: string; data: object; message: string }[] = []
  const at = (level: string) => (data: object, message: string) => void records.push({ level, data, message })
  return { records, debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}
