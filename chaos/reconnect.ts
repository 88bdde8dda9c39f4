// Reconnect times of the processes: from the moment when the server or its proxy is available again to the first
// answered call, if nothing else prevented an answer.

import type { Entry } from './entries.ts'
import type { History } from './history.ts'

interface Span {
  readonly from: number
  readonly to: number
  /** The slot that was cut off; undefined: all of them. */
  readonly slot?: string
}

export interface Return {
  readonly process: string
  readonly after: 'server' | 'proxy'
  /** undefined: the process never reconnected. */
  readonly ms: number | undefined
  readonly entries: readonly Entry[]
}

type Marked = Entry & { readonly what: 'marked' }

export function returnsOf({ entries }: History): Return[] {
  const away = [...serverAway(entries), ...cutOff(entries)]
  const own = Map.groupBy(entries, (entry) => ('process' in entry ? entry.process : entry.by))
  return entries.flatMap((marked): Return[] => {
    if (marked.what !== 'marked') return []
    const { process, after } = marked
    const mine = own.get(process) ?? []
    const reached = mine.find((entry) => entry.what === 'reached' && entry.mark === marked.mark)
    const until = reached?.at ?? Infinity
    if (!wasFree(marked, mine, until) || away.some((span) => meets(span, marked, until))) return []
    const shown = [marked, ...(reached ? [reached] : [])]
    return [{ process, after, ms: reached && reached.at - marked.at, entries: shown }]
  })
}

/** Whether the process was ready and was neither killed, stopped nor asked to finish while it reconnected. */
function wasFree(marked: Marked, mine: readonly Entry[], until: number): boolean {
  const isReady = mine.some(({ what, at }) => what === 'ready' && at < marked.at)
  const ends: readonly Entry['what'][] = ['killed', 'crashing', 'stopped', 'exited', 'finishing']
  return isReady && !mine.some(({ what, at }) => ends.includes(what) && at > marked.at && at <= until)
}

const meets = ({ from, to, slot }: Span, { at, process }: Marked, until: number): boolean =>
  (slot === undefined || process.startsWith(`${slot}.`)) && from < until && at < to

/** From the kill of the server to its first answer, and while it was frozen. */
export function serverAway(entries: readonly Entry[]): Span[] {
  return [
    ...spansBetween(entries, 'serverKilled', 'serverBack', () => true),
    ...spansBetween(entries, 'serverFrozen', 'serverThawed', () => true),
  ]
}

function cutOff(entries: readonly Entry[]): Span[] {
  const slots = new Set(entries.flatMap((entry) => (entry.what === 'disturbed' ? [entry.slot] : [])))
  return [...slots].flatMap((slot) =>
    spansBetween(entries, 'disturbed', 'restored', (entry) => 'slot' in entry && entry.slot === slot).map((span) => ({
      ...span,
      slot,
    })),
  )
}

function spansBetween(
  entries: readonly Entry[],
  begin: Entry['what'],
  end: Entry['what'],
  fits: (entry: Entry) => boolean,
): Span[] {
  const ends = entries.filter((entry) => entry.what === end && fits(entry))
  return entries
    .filter((entry) => entry.what === begin && fits(entry))
    .map(({ at: from }) => ({ from, to: ends.find(({ at }) => at >= from)?.at ?? Infinity }))
}
