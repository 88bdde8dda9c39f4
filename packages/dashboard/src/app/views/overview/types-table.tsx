// The types, by what needs attention.

import type { Attention, TypeRow } from '../../../shared/api.ts'
import type { JobState } from '../../../shared/states.ts'
import { jobsHref, typeFilter } from '../../lib/links.ts'
import { runAction } from '../../lib/run-action.ts'
import { duration, instant, number } from '../../lib/words.ts'
import { TypeName } from '../../parts/type-name.tsx'
import { TableHead } from '../../parts/table-head.tsx'
import { may } from '../../state/session.ts'

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
  const { states, due, oldestDueMs, workers, attention } = type
  const count = (label: string, value: number, of: readonly JobState[]) => (
    <td class={value === 0 ? 'right num zero' : 'right num'} data-label={label}>
      {value === 0 ? <span class="muted">0</span> : <a href={jobsHref(typeFilter(type, of))}>{number(value)}</a>}
    </td>
  )
  return (
    <tr>
      <th scope="row">
        <a href={jobsHref(typeFilter(type))}>
          <TypeName {...type} />
        </a>
      </th>
      <td data-label="Attention" class={attention.length === 0 ? 'badges zero' : 'badges'}>
        {attention.length === 0 ? (
          <span class="muted">–</span>
        ) : (
          attention.map((reason) => <Reason key={reason} reason={reason} type={type} />)
        )}
      </td>
      {count('Due', due, ['queued', 'failing'])}
      <td class={oldestDueMs === undefined ? 'right num zero' : 'right num'} data-label="Oldest wait">
        {oldestDueMs === undefined ? <span class="muted">–</span> : duration(oldestDueMs)}
      </td>
      {count('Running', states.processing, ['processing'])}
      {count('Retrying', states.failing, ['failing'])}
      {count('Failed', states.failed, ['failed'])}
      {count('Completed', states.completed, ['completed'])}
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

const reasons: Readonly<Record<Attention, readonly [word: string, tone: string]>> = {
  no_worker: ['no worker', 'failed'],
  late: ['late', 'failing'],
  failed: ['failed jobs', 'failed'],
  paused: ['paused', 'cancelled'],
  slowed: ['slowed down', 'failing'],
}

function Reason({ reason, type }: { readonly reason: Attention; readonly type: TypeRow }) {
  const [word, tone] = reasons[reason]
  const { paused, pausedGroups, slowedUntil } = type
  const since = paused && `since ${instant(paused.since)}${paused.by === undefined ? '' : ` by ${paused.by}`}`
  const groups = `groups: ${pausedGroups.map(({ group }) => group).join(', ')}`
  const title =
    reason === 'paused' ? (since ?? groups) : reason === 'slowed' ? `until ${instant(slowedUntil!)}` : undefined
  return (
    <span class={`badge state-${tone}`} title={title}>
      {reason === 'paused' && !paused ? `${pausedGroups.length} paused groups` : word}
    </span>
  )
}

function PauseButton({ type: { face, name, paused } }: { readonly type: TypeRow }) {
  const change = (): void => {
    const [of, word] = paused ? (['types/resume', 'goes on'] as const) : (['types/pause', 'is paused'] as const)
    void runAction(of, { face, name }, () => `${name} ${word}.`)
  }
  return (
    <button type="button" class="small" onClick={change} aria-label={`${paused ? 'Resume' : 'Pause'} ${name}`}>
      {paused ? 'Resume' : 'Pause'}
    </button>
  )
}
