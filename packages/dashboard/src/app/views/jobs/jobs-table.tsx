// Rows of jobs.

import { useEffect, useRef } from 'preact/hooks'
import type { NamedJob } from 'holdfast'
import type { JobRow } from '../../../shared/api.ts'
import { time } from '../../lib/clock.ts'
import { jobHref, jobsHref, typeFilter } from '../../lib/links.ts'
import { duration, shortId } from '../../lib/words.ts'
import { Ago } from '../../parts/ago.tsx'
import { StateBadge } from '../../parts/state-badge.tsx'
import { TypeName } from '../../parts/type-name.tsx'
import { TableHead } from '../../parts/table-head.tsx'

export const keyOf = ({ face, name, id }: NamedJob): string => `${face}\0${name}\0${id}`

interface TableProps {
  readonly items: readonly JobRow[]
  readonly selected: ReadonlySet<string>
  /** Row of the keyboard; -1: none. */
  readonly current: number
  readonly onToggle: (job: JobRow) => void
  readonly onToggleAll: () => void
}

const columns = ['State', 'Type', 'Id', 'Attempt', 'Added', 'Time', 'Error']

export function JobsTable({ items, selected, current, onToggle, onToggleAll }: TableProps) {
  const isAll = items.every((job) => selected.has(keyOf(job)))
  return (
    <section class="panel" aria-label="Jobs">
      <table class="cards jobs">
        <TableHead columns={columns} right={['Attempt', 'Added', 'Time']}>
          <th scope="col" class="check">
            <input type="checkbox" checked={isAll} onChange={onToggleAll} aria-label="Select all jobs on this page" />
          </th>
        </TableHead>
        <tbody>
          {items.map((job, index) => (
            <Row
              key={keyOf(job)}
              job={job}
              isSelected={selected.has(keyOf(job))}
              isCurrent={index === current}
              onToggle={() => onToggle(job)}
            />
          ))}
        </tbody>
      </table>
    </section>
  )
}

interface RowProps {
  readonly job: JobRow
  readonly isSelected: boolean
  readonly isCurrent: boolean
  readonly onToggle: () => void
}

function Row({ job, isSelected, isCurrent, onToggle }: RowProps) {
  const row = useRef<HTMLTableRowElement>(null)
  useEffect(() => {
    if (isCurrent) row.current?.scrollIntoView({ block: 'nearest' })
  }, [isCurrent])
  const { id, state, attempts, maxAttempts, createdAt, errorLine, cancelling } = job
  return (
    <tr ref={row} class={isCurrent ? 'current' : undefined} aria-selected={isSelected}>
      <td class="check">
        <input type="checkbox" checked={isSelected} onChange={onToggle} aria-label={`Select job ${id}`} />
      </td>
      <td class="state">
        <StateBadge state={state} note={cancelling ? 'cancelling' : undefined} />
      </td>
      <td class="type">
        <a class="quiet" href={jobsHref(typeFilter(job))}>
          <TypeName {...job} />
        </a>
      </td>
      <th scope="row" class="id">
        <a href={jobHref(job)} title={id}>
          <bdi>{shortId(id, 17)}</bdi>
        </a>
      </th>
      <td class="right num" data-label="Attempt">
        {attempts}
        {maxAttempts !== undefined && <span class="muted"> / {maxAttempts}</span>}
      </td>
      <td class="right num" data-label="Added">
        <Ago at={createdAt} />
      </td>
      <td class="right num" data-label="Time">
        {spanOf(job, time.value)}
      </td>
      <td class={errorLine === undefined ? 'error-line zero' : 'error-line'} data-label="Error" title={errorLine}>
        {errorLine === undefined ? <span class="muted">–</span> : <bdi>{errorLine}</bdi>}
      </td>
    </tr>
  )
}

/** How long it ran, runs, waits or will wait. */
function spanOf({ state, runAt, startedAt, finishedAt }: JobRow, now: number): string {
  if (startedAt !== undefined && finishedAt !== undefined && finishedAt >= startedAt)
    return `ran ${duration(finishedAt - startedAt)}`
  if (state === 'processing' && startedAt !== undefined) return `runs ${duration(now - startedAt)}`
  if (finishedAt !== undefined || state === 'blocked') return '–'
  return runAt > now ? `due in ${duration(runAt - now)}` : `waits ${duration(now - runAt)}`
}
