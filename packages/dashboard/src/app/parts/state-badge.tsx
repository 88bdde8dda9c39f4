// The state of a job: colour, icon and word, so that colour is never alone.

import type { JobState } from '../../shared/states.ts'
import { Icon } from './icon.tsx'

export function StateBadge({ state, note }: { readonly state: JobState; readonly note?: string | undefined }) {
  return (
    <span class={`badge state-${state}`}>
      <Icon name={state} size={12} />
      {note ?? state}
    </span>
  )
}
