// The types, by what needs attention.

import type { TypeRow } from '../../../shared/api.ts'
import { duration, number } from '../../lib/words.ts'
import { TableHead } from '../../parts/table-head.tsx'
import { may } from '../../state/session.ts'
import { AttentionCell, CountCell, PauseButton, TypeCell } from '../types/type-cells.tsx'

const figures = ['Due', 'Oldest wait', 'Running', 'Retrying', 'Failed', 'Completed', 'Workers']

export function TypesTable({ types }: { readonly types: readonly TypeRow[] }) {
  return (
    <section class="panel" aria-labelledby="types-title">
      <h2 id="types-title">Types</h2>
      <table class="cards">
        <TableHead columns={['Type', 'Attention', ...figures]} right={figures} hasActions={may('pause')} />
        <tbody>
          {types.map((type) => (
            <Row key={`${type.face}/${type.name}`} type={type} />
          ))}
        </tbody>
      </table>
    </section>
  )
}

function Row({ type }: { readonly type: TypeRow }) {
  const { states, due, oldestDueMs, workers } = type
  return (
    <tr>
      <TypeCell type={type} />
      <AttentionCell type={type} />
      <CountCell type={type} label="Due" count={due} states={['queued', 'failing']} />
      <td class={oldestDueMs === undefined ? 'right num zero' : 'right num'} data-label="Oldest wait">
        {oldestDueMs === undefined ? <span class="muted">–</span> : duration(oldestDueMs)}
      </td>
      <CountCell type={type} label="Running" count={states.processing} states={['processing']} />
      <CountCell type={type} label="Retrying" count={states.failing} states={['failing']} />
      <CountCell type={type} label="Failed" count={states.failed} states={['failed']} />
      <CountCell type={type} label="Completed" count={states.completed} states={['completed']} />
      <td class="right num" data-label="Workers">
        {number(workers)}
      </td>
      {may('pause') && (
        <td class="right corner">
          <PauseButton type={type} />
        </td>
      )}
    </tr>
  )
}
