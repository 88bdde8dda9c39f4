// A sight of the storage as lines that fit the screen.

import type { TypeSummary } from '../../engine/operate/type-summary.ts'
import { counted } from '../../count-text.ts'
import { typeText } from '../find-type.ts'
import { type Column, table } from '../table.ts'
import { cut, escaped, type Part, widthOf } from '../text.ts'
import { ageText, clockText, durationText } from '../time.ts'
import { workerColumns } from '../commands/workers.ts'
import { noteOf, waitingOf } from '../commands/status.ts'
import { sparkline } from './sparkline.ts'
import type { Failure, TopView } from './top.ts'

interface Size {
  readonly columns: number
  readonly rows: number
}

/** @returns at most `rows` lines of at most `columns` columns */
export function draw(view: TopView, { columns, rows }: Size): Part[][] {
  const [head, foot] = [header(view, columns), footer(view, columns)]
  const room = Math.max(0, rows - head.length - foot.length)
  const body = bodyOf(view, columns, room).slice(0, room)
  const space = Array.from({ length: room - body.length }, (): Part[] => [])
  return [...head, ...body, ...space, ...foot].slice(0, rows).map((parts) => fitted(parts, columns))
}

/** Columns below which a terminal is narrow: names of types would have no room beside all figures. */
const narrowBelow = 60
/** Lines below which a body has types alone, or types and one more table. */
const [fewLines, someLines] = [8, 13]

/** The newest value. */
const rate = (values: readonly number[]): string => `${(values.at(-1) ?? 0).toFixed(1)}/s`.padStart(9)

function header(view: TopView, columns: number): Part[][] {
  const { driver, now, types, workers, rates, opened, outage, readAt = now } = view
  const time = outage === undefined ? `${clockText(now)}Z` : `as of ${clockText(readAt)}Z`
  const what = opened ? typeText(opened) : counted(types.length, 'type')
  const isNarrow = columns < narrowBelow
  const wide = Math.max(8, Math.min(40, Math.floor((columns - 44) / 2)))
  return [
    [{ text: 'holdfast top', style: 'bold' }, `  ${driver}  ${time}  ${what}, ${counted(workers.length, 'worker')}`],
    [
      'completed',
      rate(rates.completed),
      ...(isNarrow ? [] : [' ', { text: sparkline(rates.completed, wide), style: 'green' } as const]),
      '  failed',
      rate(rates.failed),
      ...(isNarrow ? [] : [' ', { text: sparkline(rates.failed, wide), style: 'red' } as const]),
    ],
    [],
  ]
}

function footer({ message, opened }: TopView, columns: number): Part[][] {
  const keys =
    columns < narrowBelow
      ? `q quit  ${opened ? 'Esc' : '↑↓ Enter'}  p pause  r retry`
      : `q quit  ${opened ? 'Esc back' : '↑↓ select  Enter open'}  p pause/resume  r retry failed`
  return [message === undefined ? [] : [{ text: message, style: 'yellow' }], [{ text: keys, style: 'dim' }]]
}

/** The types have at most half of the room, so that workers and failures are seen, too, unless there is no room for a table of them. */
function bodyOf(view: TopView, columns: number, room: number): Part[][] {
  const { types, opened, workers, failures, now } = view
  const sections = {
    workers: room >= someLines || (room >= fewLines && failures.length === 0),
    failures: room >= fewLines,
  }
  const workerLines = workers.length === 0 ? [] : table(workers, workerColumns(now, view.running), columns)
  const failureLines = failures.length === 0 ? [] : table(failures, failureColumns(now), columns)
  const rest = Math.min(workerLines.length, 6) + Math.min(failureLines.length, 8) + 4
  const half = room < fewLines ? room : Math.max(Math.floor(room / 2), room - rest)
  const typeRoom = Math.max(3, Math.min(types.length + 1, half))
  const top = opened ? oneType(opened, workers) : typeLines(view, columns, typeRoom)
  const left = room - top.length - (sections.workers && sections.failures ? 4 : 1)
  const failureRoom = Math.min(failureLines.length, Math.ceil(left / 2))
  const shownWorkers = shortened(
    workerLines,
    Math.max(3, left - (sections.failures ? failureRoom : 0)),
    (more) => `and ${counted(more, 'worker')} more`,
  )
  const noWorker: Part = { text: opened ? 'No worker serves it.' : 'No worker is alive.', style: 'yellow' }
  return [
    ...(types.length === 0
      ? [[view.readAt === undefined ? 'Nothing was read yet.' : 'The storage has no jobs.']]
      : top),
    ...(sections.workers ? [[], ...(workerLines.length === 0 ? [[noWorker]] : shownWorkers)] : []),
    ...(sections.failures ? [[], ...(failureLines.length === 0 ? [['No failed jobs.']] : failureLines)] : []),
  ]
}

/** At most so many lines. What is left out is told in the last one. */
function shortened(lines: readonly Part[][], room: number, say: (more: number) => string): Part[][] {
  if (lines.length <= room) return [...lines]
  const kept = lines.slice(0, room - 1)
  return [...kept, [{ text: say(lines.length - kept.length), style: 'dim' }]]
}

/** The selected one is always among them. */
function typeLines({ types, selected, workers }: TopView, columns: number, room: number): Part[][] {
  const isCut = types.length > room - 1
  const shown = Math.max(1, room - (isCut ? 2 : 1))
  const first = Math.max(0, Math.min(selected - Math.floor(shown / 2), types.length - shown))
  const part = types.slice(first, first + shown)
  const [titles, ...lines] = table(part, typeColumns(workers, columns < narrowBelow), columns)
  return [
    titles!,
    ...lines.map((line, index): Part[] =>
      first + index === selected
        ? line.map((one) => ({ text: typeof one === 'string' ? one : one.text, style: 'inverse' }))
        : line,
    ),
    ...(isCut
      ? [[{ text: `${first + 1} – ${first + part.length} of ${counted(types.length, 'type')}`, style: 'dim' } as const]]
      : []),
  ]
}

const count = (title: string, of: (type: TypeSummary) => number): Column<TypeSummary> => ({
  title,
  kind: 'number',
  of: (type) => String(of(type)),
})

const oldestColumn: Column<TypeSummary> = {
  title: 'OLDEST',
  of: ({ oldestDueMs }) => (oldestDueMs === undefined ? '-' : durationText(oldestDueMs)),
}

const typeColumns = (workers: TopView['workers'], isNarrow: boolean): readonly Column<TypeSummary>[] => [
  { title: 'TYPE', of: typeText },
  ...(isNarrow ? [] : [count('WAITING', waitingOf)]),
  count('DUE', ({ due }) => due),
  ...(isNarrow ? [] : [count('RUNNING', ({ states }) => states.processing)]),
  {
    ...count('FAILED', ({ states }) => states.failed),
    style: ({ states }) => (states.failed > 0 ? 'red' : undefined),
  },
  ...(isNarrow ? [] : [oldestColumn]),
  { title: 'NOTE', of: (type) => noteOf(type, workers), style: () => 'yellow' },
]

const failureColumns = (now: number): readonly Column<Failure>[] => [
  { title: 'LAST FAILED', of: ({ job }) => job.id },
  { title: 'TYPE', of: ({ job }) => typeText(job) },
  { title: 'ENDED', of: ({ job }) => ageText(job.finishedAt, now) },
  { title: 'ERROR', of: ({ message }) => message.split('\n', 1)[0]!, style: () => 'red' },
]

const oneType = (type: TypeSummary, workers: TopView['workers']): Part[][] => [
  ...Object.entries(type.states).map(([state, jobs]): Part[] => [`${state.padEnd(12)}${String(jobs).padStart(10)}`]),
  [`${'oldest due'.padEnd(12)}${(type.oldestDueMs === undefined ? '-' : durationText(type.oldestDueMs)).padStart(10)}`],
  [{ text: noteOf(type, workers), style: 'yellow' }],
]

/** Cut to the width of the screen. */
function fitted(parts: readonly Part[], columns: number): Part[] {
  let left = columns
  return parts.flatMap((part) => {
    const text = cut(escaped(typeof part === 'string' ? part : part.text), left)
    left -= widthOf(text)
    if (text === '') return []
    return [typeof part === 'string' ? text : { text, style: part.style }]
  })
}
