// Every type, with its counts and limits: searched by name, page by page. The name and the page are in the URL.

import { useState } from 'preact/hooks'
import type { TypesPage, TypesRow } from '../../../shared/api.ts'
import { counted, duration, number, period } from '../../lib/words.ts'
import { Icon } from '../../parts/icon.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { TableHead } from '../../parts/table-head.tsx'
import { useLive } from '../../state/live.ts'
import { query, setQuery, to } from '../../state/location.ts'
import { may } from '../../state/session.ts'
import { NewJobDialog } from '../jobs/new-job-dialog.tsx'
import { AttentionCell, CountCell, PauseButton, TypeCell } from './type-cells.tsx'

const figures = ['Due', 'Oldest wait', 'Failed', 'Completed', 'Running', 'Rate', 'Workers']
const columns = ['Type', 'Attention', ...figures]

export function TypesView() {
  const [q, page] = ['q', 'page'].map((name) => query.value.get(name) ?? undefined)
  const live = useLive<TypesPage>(to('types', { q, page }))
  const [queue, setQueue] = useState<string>()
  return (
    <>
      <header class="page-head">
        <h1>Types</h1>
        {may('edit') && (
          <div class="page-actions">
            <button type="button" onClick={() => setQueue('')}>
              New job…
            </button>
          </div>
        )}
      </header>
      <div class="filter-line">
        <Icon name="search" />
        <input
          type="search"
          value={q ?? ''}
          placeholder="part of a name"
          aria-label="Types whose name has"
          autocomplete="off"
          spellcheck={false}
          onInput={({ currentTarget }) => setQuery({ q: currentTarget.value, page: undefined }, { replace: true })}
        />
      </div>
      <Loaded live={live} what="Reading the types">
        {(found) =>
          found.total === 0 ? (
            <Empty title="No type yet">
              <p>A type appears with its first job: a queue, a job type of chains, or a task.</p>
            </Empty>
          ) : found.types.length === 0 ? (
            <Empty title="No type matches">
              <p>No name of {counted(found.total, 'type')} has this text.</p>
            </Empty>
          ) : (
            <>
              <section class="panel" aria-label="Types">
                <table class="cards dense">
                  <TableHead columns={columns} right={figures} hasActions={may('pause') || may('edit')} />
                  <tbody>
                    {found.types.map((type) => (
                      <Row key={`${type.face}/${type.name}`} type={type} onAdd={setQueue} />
                    ))}
                  </tbody>
                </table>
              </section>
              <Pager found={found} />
            </>
          )
        }
      </Loaded>
      {queue !== undefined && <NewJobDialog queue={queue} onClose={() => setQueue(undefined)} />}
    </>
  )
}

/** A figure with its limit below it. The whole figure stands out when the limit is reached. */
function Used({ used, of, unit }: { readonly used: number; readonly of: number; readonly unit?: string }) {
  return (
    <>
      <span class={used >= of ? 'full-text' : undefined}>
        {number(used)}
        {of !== Infinity && <span class="muted"> / {number(of)}</span>}
      </span>
      {of !== Infinity && unit !== undefined && <span class="line note">{unit}</span>}
    </>
  )
}

function Row({ type, onAdd }: { readonly type: TypesRow; readonly onAdd: (queue: string) => void }) {
  const { states, due, oldestDueMs, workers, limits } = type
  const { concurrency = Infinity, rate, use } = limits
  return (
    <tr>
      <TypeCell type={type} />
      <AttentionCell type={type} />
      <CountCell type={type} label="Due" count={due} states={['queued', 'failing']} />
      <td class={oldestDueMs === undefined ? 'right num zero' : 'right num'} data-label="Oldest wait">
        {oldestDueMs === undefined ? <span class="muted">–</span> : duration(oldestDueMs)}
      </td>
      <CountCell type={type} label="Failed" count={states.failed} states={['failed']} />
      <CountCell type={type} label="Completed" count={states.completed} states={['completed']} />
      <td class="right num" data-label="Running">
        <Used used={states.processing} of={concurrency} />
      </td>
      <td class={rate ? 'right num' : 'right num zero'} data-label="Rate">
        {rate ? (
          <Used used={use.used ?? 0} of={rate.limit} unit={`per ${period(rate.perMs)}`} />
        ) : (
          <span class="muted">–</span>
        )}
      </td>
      <td class="right num" data-label="Workers">
        {number(workers)}
      </td>
      {(may('pause') || may('edit')) && (
        <td class="right corner">
          <span class="button-row">
            {may('edit') && type.face === 'queue' && (
              <button
                type="button"
                class="small"
                aria-label={`New job of ${type.name}`}
                onClick={() => onAdd(type.name)}
              >
                New job
              </button>
            )}
            {may('pause') && <PauseButton type={type} />}
          </span>
        </td>
      )}
    </tr>
  )
}

const show = (page: number): void => setQuery({ page: page === 0 ? undefined : String(page) })

function Pager({ found: { matching, page, pages } }: { readonly found: TypesPage }) {
  return (
    <div class="pager">
      <span class="muted">
        {counted(matching, 'type')}
        {pages > 1 && `, page ${page + 1} of ${pages}`}
      </span>
      {page > 0 && (
        <button type="button" onClick={() => show(page - 1)}>
          Previous page
        </button>
      )}
      {page + 1 < pages && (
        <button type="button" onClick={() => show(page + 1)}>
          Next page
        </button>
      )}
    </div>
  )
}
