// Live data: each view is fetched once, and then kept current by one event stream for the whole page. A hidden page has no stream.
// Where streams do not come through, the page asks every 5 s.

import { type Signal, signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { Answer, Failure } from '../../shared/api.ts'
import { after, setServerTime } from '../lib/clock.ts'
import { ApiError, get, parse } from './api.ts'
import { hrefOf } from './location.ts'

/** What is known of a view. After a problem the last answer stays, with its age. */
export interface Live<T> {
  readonly answer?: Answer<T>
  readonly problem?: Failure
}

interface Watched {
  readonly state: Signal<Live<unknown>>
  users: number
  /** No component shows it any more. One that is about to be watched has no users either: its effect comes after its first drawing. */
  isLeft: boolean
}

/** `down`: data get old. `polling`: no stream comes through. */
export const connection = signal<'open' | 'polling' | 'down' | 'hidden'>('open')

/** Views of the counts alone: one read serves them, and the footer names it. */
const countViews: readonly string[] = ['summary', 'overview']

/** What the other reads behind the views of this page took the server, in ms. Viewers share them. */
export const pageCostMs = signal(0)

function sumCosts(): void {
  let sum = 0
  for (const [of, { state, users }] of watched) {
    if (users > 0 && !countViews.includes(of)) sum += state.peek().answer?.costMs ?? 0
  }
  pageCostMs.value = Math.round(sum * 10) / 10
}

const watched = new Map<string, Watched>()
const retryMs = 5_000
let source: EventSource | undefined
let isPlanned = false
let cancelRetry: (() => void) | undefined

/** @param of path and query of the view below `api/`; undefined: nothing is watched */
export function useLive<T>(of: string | undefined): Live<T> {
  useEffect(() => (of === undefined ? undefined : watch(of)), [of])
  return of === undefined ? {} : (entryOf(of).state.value as Live<T>)
}

/** After a write: asks for everything on the page again. */
export function refresh(): void {
  for (const [of, { users }] of watched) if (users > 0) void fetchOnce(of)
}

const watchedViews = (): string[] => [...watched].flatMap(([of, { users }]) => (users > 0 ? [of] : []))

function entryOf(of: string): Watched {
  let entry = watched.get(of)
  if (!entry) watched.set(of, (entry = { state: signal({}), users: 0, isLeft: false }))
  entry.isLeft = false
  return entry
}

function watch(of: string): () => void {
  const entry = entryOf(of)
  if (entry.users++ === 0) {
    void fetchOnce(of)
    plan()
  }
  return () => {
    entry.isLeft = --entry.users === 0
    plan()
  }
}

async function fetchOnce(of: string): Promise<boolean> {
  const { state } = entryOf(of)
  try {
    const answer = await get(of)
    // The stream may have brought the counts since this was asked for.
    const isBehind = answer.countMs === undefined && state.peek().answer?.countMs !== undefined
    if (!isBehind) state.value = { answer }
    sumCosts()
    return true
  } catch (error) {
    const { code, message } = error as ApiError
    state.value = { ...state.peek(), problem: { code, error: message } }
    return code !== 'OFFLINE'
  }
}

/** Opens the stream of the views that are watched now; several changes of one moment make one stream. */
function plan(): void {
  if (isPlanned) return
  isPlanned = true
  queueMicrotask(() => {
    isPlanned = false
    connect()
  })
}

function connect(): void {
  source?.close()
  source = undefined
  cancelRetry?.()
  for (const [of, { isLeft }] of watched) if (isLeft) watched.delete(of)
  if (document.hidden) {
    connection.value = 'hidden'
    return
  }
  if (watchedViews().length === 0) return
  const views = watchedViews()
    .map((of) => `of=${encodeURIComponent(of)}`)
    .join('&')
  const opened = new EventSource(hrefOf(`/api/stream?${views}`))
  source = opened
  opened.addEventListener('open', () => (connection.value = 'open'))
  opened.addEventListener('error', () => {
    if (opened !== source) return
    opened.close()
    void poll()
  })
  for (const kind of ['answer', 'same', 'problem']) {
    opened.addEventListener(kind, (event) => receive(kind, (event as MessageEvent<string>).data))
  }
}

function receive(kind: string, text: string): void {
  const { of, now, at, costMs, countMs, data } = parse(text) as {
    of: string
    now: number
    at: number
    costMs: number
    countMs?: number
    data?: unknown
  }
  setServerTime(now)
  const entry = watched.get(of)
  if (!entry) return
  const { state } = entry
  const times = { at, costMs, ...(countMs !== undefined && { countMs }) }
  if (kind === 'problem') state.value = { ...state.peek(), problem: data as Failure }
  else if (kind === 'answer') state.value = { answer: { ...times, data } }
  else if (state.peek().answer) state.value = { answer: { ...times, data: state.peek().answer!.data } }
  sumCosts()
}

/** Without a stream: asks once, and tries the stream again later. */
async function poll(): Promise<void> {
  const answers = await Promise.all(watchedViews().map(fetchOnce))
  if (!document.hidden) connection.value = answers.every(Boolean) ? 'polling' : 'down'
  cancelRetry?.()
  cancelRetry = after(retryMs, connect)
}

export function startLive(): void {
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden) refresh()
    connect()
  })
}
