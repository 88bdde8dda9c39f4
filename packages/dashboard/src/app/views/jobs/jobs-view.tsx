// The list of jobs: filter, select, act. The filter, the page and the order are in the URL.

import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { JobRow, JobsPage } from '../../../shared/api.ts'
import { parseFilter } from '../../../shared/filter.ts'
import type { JobAction } from '../../../shared/states.ts'
import { jobPath } from '../../lib/links.ts'
import { changeJobs } from '../../lib/run-action.ts'
import { counted, number } from '../../lib/words.ts'
import { Empty, Loaded } from '../../parts/states.tsx'
import { useKeys } from '../../state/keys.ts'
import { useLive } from '../../state/live.ts'
import { navigate, query, setQuery, to } from '../../state/location.ts'
import { ActionBar } from './action-bar.tsx'
import { BulkDialog, type BulkTarget } from './bulk-dialog.tsx'
import { FilterBar } from './filter-bar.tsx'
import { JobHistogram } from './job-histogram.tsx'
import { JobsTable, keyOf } from './jobs-table.tsx'
import { LookOn } from './look-on.tsx'

export function JobsView() {
  const [q, cursor, sort] = ['q', 'cursor', 'sort'].map((name) => query.value.get(name) ?? undefined)
  // The filter bar says what is wrong with a filter; the server would say the same.
  const isWrong = q !== undefined && parseFilter(q).errors.length > 0
  const live = useLive<JobsPage>(isWrong ? undefined : to('jobs', { q, cursor, sort }))
  const [held, setHeld] = useState<typeof live>()
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set())
  const [dialog, setDialog] = useState<{ readonly action: JobAction; readonly target: BulkTarget }>()
  const [current, setCurrent] = useState(-1)
  // The list before stays until the next one is there, so that the page does not collapse in between.
  const last = useRef<typeof live>(undefined)
  if (live.answer) last.current = live
  const isReading = !live.answer && !live.problem && !isWrong
  const shown = held ?? (isReading ? (last.current ?? live) : live)
  const items = shown.answer?.data.items ?? []
  const place = `${q}\0${cursor}\0${sort}`
  const before = useRef(place)
  // Another list: nothing of it is selected.
  useLayoutEffect(() => {
    if (before.current === place) return
    before.current = place
    setSelected(new Set())
    setCurrent(-1)
    setHeld(undefined)
  }, [place])
  const chosen = useMemo(() => items.filter((job) => selected.has(keyOf(job))), [items, selected])

  const toggle = (job: JobRow): void => {
    const changed = new Set(selected)
    if (!changed.delete(keyOf(job))) changed.add(keyOf(job))
    setSelected(changed)
  }
  const move = (step: number): void => setCurrent(Math.min(items.length - 1, Math.max(0, current + step)))
  const act = (action: JobAction): void => {
    const jobs = chosen.length > 0 ? chosen : items.slice(current, current + 1)
    if (current < 0 && chosen.length === 0) return
    if (jobs.length === 1 && action !== 'remove') void changeJobs(action, jobs)
    else if (jobs.length > 0) setDialog({ action, target: { jobs } })
  }
  const isEmpty = shown.answer?.data.items.length === 0 && shown.answer.data.nextCursor === undefined
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    x: () => items[current] && toggle(items[current]),
    Enter: () => items[current] && navigate(jobPath(items[current])),
    r: () => act('retry'),
    c: () => act('cancel'),
  })

  return (
    <>
      <header class="page-head">
        <h1>Jobs</h1>
        <div class="page-actions">
          <label class="switch">
            <input type="checkbox" checked={!held} onChange={() => setHeld(held ? undefined : live)} />
            Live
          </label>
          <label class="select">
            <span class="hidden-text">Order</span>
            <select
              value={sort ?? shown.answer?.data.sort ?? 'new'}
              onChange={({ currentTarget }) => setQuery({ sort: currentTarget.value, cursor: undefined })}
            >
              <option value="new">Newest first</option>
              <option value="old">Oldest first</option>
              <option value="storage">As stored (fastest)</option>
            </select>
          </label>
        </div>
      </header>
      <FilterBar types={shown.answer?.data.types ?? []} items={items} />
      {!isWrong && <JobHistogram q={q} sort={sort} />}
      {!isWrong && (shown.answer || !shown.problem) && (
        <ActionBar
          q={q ?? ''}
          isEmpty={isEmpty}
          chosen={chosen.length}
          onAct={act}
          onActAll={(action) => setDialog({ action, target: { q: q ?? '' } })}
          onRunNow={() => void changeJobs('run-now', chosen).then(() => setSelected(new Set()))}
          onClear={() => setSelected(new Set())}
        />
      )}
      {isWrong ? (
        <WrongFilter />
      ) : (
        <Loaded live={shown} what="Reading the list">
          {(page) => (
            <>
              {page.items.length === 0 ? (
                page.nextCursor === undefined ? (
                  <NoJobs q={q} />
                ) : (
                  <LookOn key={place} q={q} sort={page.sort} cursor={page.nextCursor} />
                )
              ) : (
                <JobsTable
                  items={page.items}
                  selected={selected}
                  current={current}
                  onToggle={toggle}
                  onToggleAll={() =>
                    setSelected(chosen.length === items.length ? new Set() : new Set(items.map(keyOf)))
                  }
                />
              )}
              {page.truncated && (
                <p class="muted">
                  The storage has no index for this filter or order, and looked at a part of the jobs. There may be
                  more.
                </p>
              )}
              <Pager page={page} cursor={cursor} />
            </>
          )}
        </Loaded>
      )}
      {dialog && (
        <BulkDialog
          action={dialog.action}
          target={dialog.target}
          onClose={() => setDialog(undefined)}
          onDone={() => setSelected(new Set())}
        />
      )}
    </>
  )
}

function WrongFilter() {
  return (
    <Empty title="The filter cannot be read">
      <p>
        Correct what is said above, or search for <Conditions />
      </p>
    </Empty>
  )
}

function Conditions() {
  return (
    <>
      <code>state:failed</code>, <code>type:mail</code>, <code>error:ECONN*</code>, <code>age&gt;1h</code>, a search
      field such as <code>customerId:c-42</code>, or an id.
    </>
  )
}

function NoJobs({ q }: { readonly q: string | undefined }) {
  return (
    <Empty title={q ? 'No job matches' : 'No job yet'}>
      <p>
        {q ? 'Remove a condition, or search for ' : 'Jobs appear here as they are added. Search for '}
        <Conditions />
      </p>
    </Empty>
  )
}

/** Shows another page, from its top. */
function turn(changes: Parameters<typeof setQuery>[0]): void {
  setQuery(changes)
  scrollTo(0, 0)
}

function Pager({ page, cursor }: { readonly page: JobsPage; readonly cursor: string | undefined }) {
  // Then the next ones are looked at by themselves.
  if (page.items.length === 0 && page.nextCursor !== undefined) return null
  if (cursor === undefined && page.nextCursor === undefined) {
    return page.items.length > 0 ? (
      <p class="muted pager">{counted(page.items.length, 'job')}, all that match.</p>
    ) : null
  }
  return (
    <div class="pager">
      <span class="muted">{number(page.items.length)} on this page</span>
      {cursor !== undefined && (
        <button type="button" onClick={() => turn({ cursor: undefined })}>
          First page
        </button>
      )}
      {page.nextCursor !== undefined && (
        <button type="button" onClick={() => turn({ cursor: page.nextCursor, sort: page.sort })}>
          Next page
        </button>
      )}
    </div>
  )
}
