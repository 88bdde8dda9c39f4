// A task as a message: plain JSON, with the data as text of the value codec. The deduplication key is never in it.

import { parseValue, valueText } from '../engine/job/values.ts'
import type { TraceContext } from '../engine/tracing.ts'
import { SerializationError } from '../errors.ts'

export interface TaskMessage {
  readonly v: 1
  readonly type: 'holdfast.task'
  readonly id: string
  readonly task: string
  readonly data: string
  /** Epoch ms. */
  readonly enqueuedAt: number
  /** From 1. A queue that counts runs by itself wins over it. */
  readonly attempt: number
  readonly orderingKey?: string
  /** W3C traceparent, if the enqueue was traced. */
  readonly trace?: string
  /** What goes with it, of W3C Trace Context and Baggage. */
  readonly tracestate?: string
  readonly baggage?: string
}

/** How a message carries the trace of its enqueue. */
export function carriedTrace(context: TraceContext | undefined): Pick<TaskMessage, 'trace' | 'tracestate' | 'baggage'> {
  if (!context) return {}
  const { traceparent: trace, ...rest } = context
  return { trace, ...(rest as Pick<TaskMessage, 'tracestate' | 'baggage'>) }
}

/** Undefined: the enqueue was not traced. */
export const traceOf = ({ trace, tracestate, baggage }: TaskMessage): TraceContext | undefined =>
  trace === undefined ? undefined : { traceparent: trace, tracestate, baggage }

/** @param index in a batch, for the error @throws SerializationError with path and index */
export function encodeData(data: unknown, index?: number): string {
  try {
    return valueText(data, 'data')
  } catch (error) {
    if (index === undefined || !(error instanceof SerializationError)) throw error
    throw new SerializationError('payload', error.message, error.cause, { path: error.path, index })
  }
}

/** @throws SerializationError */
export const decodeData = (text: string): unknown => parseValue(text)

/** The message of a task, from whatever queue, with corrupt fields put right; undefined if it is none. */
export function taskMessageOf(message: unknown, now: number): TaskMessage | undefined {
  if (message === null || typeof message !== 'object') return undefined
  const { v, type, id, task, data, enqueuedAt, attempt, orderingKey, trace, tracestate, baggage } =
    message as Partial<TaskMessage>
  if (v !== 1 || type !== 'holdfast.task') return undefined
  if (typeof id !== 'string' || typeof task !== 'string' || typeof data !== 'string') return undefined
  return {
    v,
    type,
    id,
    task,
    data,
    // A corrupt or future instant counts as now.
    enqueuedAt: Number.isFinite(enqueuedAt) && enqueuedAt! <= now ? enqueuedAt! : now,
    attempt: Number.isInteger(attempt) && attempt! >= 1 ? attempt! : 1,
    ...(typeof orderingKey === 'string' && { orderingKey }),
    ...(typeof trace === 'string' && { trace }),
    ...(typeof tracestate === 'string' && { tracestate }),
    ...(typeof baggage === 'string' && { baggage }),
  }
}
