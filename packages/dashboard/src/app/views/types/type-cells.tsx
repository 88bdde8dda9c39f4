// Cells of a row about a type, for the overview and for the list of types.

import type { Attention, TypeRow } from '../../../shared/api.ts'
import type { JobState } from '../../../shared/states.ts'
import { jobsHref, typeFilter } from '../../lib/links.ts'
import { runAction } from '../../lib/run-action.ts'
import { instant, number } from '../../lib/words.ts'
import { TypeName } from '../../parts/type-name.tsx'

interface CellProps {
  readonly type: TypeRow
}

export function TypeCell({ type }: CellProps) {
  return (
    <th scope="row">
      <a href={jobsHref(typeFilter(type))}>
        <TypeName {...type} />
      </a>
    </th>
  )
}

interface CountCellProps extends CellProps {
  readonly label: string
  readonly count: number
  /** States of the jobs that are counted. */
  readonly states: readonly JobState[]
}

export function CountCell({ type, label, count, states }: CountCellProps) {
  return (
    <td class={count === 0 ? 'right num zero' : 'right num'} data-label={label}>
      {count === 0 ? <span class="muted">0</span> : <a href={jobsHref(typeFilter(type, states))}>{number(count)}</a>}
    </td>
  )
}

export function AttentionCell({ type }: CellProps) {
  const { attention } = type
  return (
    <td data-label="Attention" class={attention.length === 0 ? 'badges zero' : 'badges'}>
      {attention.length === 0 ? (
        <span class="muted">–</span>
      ) : (
        attention.map((reason) => <Reason key={reason} reason={reason} type={type} />)
      )}
    </td>
  )
}

const reasons: Readonly<Record<Attention, readonly [word: string, tone: string]>> = {
  no_worker: ['no worker', 'failed'],
  late: ['late', 'failing'],
  failed: ['failed jobs', 'failed'],
  paused: ['paused', 'cancelled'],
  slowed: ['slowed down', 'failing'],
}

function Reason({ reason, type }: CellProps & { readonly reason: Attention }) {
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

export function PauseButton({ type: { face, name, paused } }: CellProps) {
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
