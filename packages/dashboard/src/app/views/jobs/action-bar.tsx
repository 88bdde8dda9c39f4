// Actions on the selected jobs, or on all that match the filter.

import type { JobAction } from '../../../shared/states.ts'
import type { Permission } from '../../../shared/permissions.ts'
import { counted } from '../../lib/words.ts'
import { may } from '../../state/session.ts'

const actions: readonly (readonly [action: JobAction, word: string, permission: Permission])[] = [
  ['retry', 'Retry', 'revive'],
  ['cancel', 'Cancel', 'cancel'],
  ['remove', 'Remove', 'remove'],
]

interface ActionBarProps {
  readonly q: string
  /** No job matches: the buttons keep their place, so that the page does not move when one does. */
  readonly isEmpty: boolean
  /** Number of selected jobs. */
  readonly chosen: number
  readonly onAct: (action: JobAction) => void
  readonly onActAll: (action: JobAction) => void
  /** Of the selected jobs that wait. */
  readonly onRunNow: () => void
  readonly onClear: () => void
}

export function ActionBar({ q, isEmpty, chosen, onAct, onActAll, onRunNow, onClear }: ActionBarProps) {
  const allowed = actions.filter(([, , permission]) => may(permission))
  if (allowed.length === 0) return null
  return (
    <div class="action-bar">
      <span class="muted">
        {chosen > 0 ? `${counted(chosen, 'job')} selected` : q === '' ? 'All jobs' : 'All that match'}
      </span>
      {allowed.map(([action, word]) => (
        <button
          key={action}
          type="button"
          class="small"
          disabled={isEmpty}
          onClick={() => (chosen > 0 ? onAct(action) : onActAll(action))}
        >
          {word}
          {chosen > 0 ? '' : ' all…'}
        </button>
      ))}
      {chosen > 0 && may('revive') && (
        <button type="button" class="small" onClick={onRunNow}>
          Run now
        </button>
      )}
      {chosen > 0 && (
        <button type="button" class="small plain" onClick={onClear}>
          Clear selection
        </button>
      )}
    </div>
  )
}
