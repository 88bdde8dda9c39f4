// What actions did, in the corner.

import { dismiss, notices } from '../state/notices.ts'
import { Icon } from './icon.tsx'

export function Notices() {
  return (
    <div class="notices" role="status" aria-live="polite">
      {notices.value.map(({ id, text, isError }) => (
        <div key={id} class={isError ? 'notice error' : 'notice'}>
          <span>{text}</span>
          <button type="button" class="plain" aria-label="Dismiss" onClick={() => dismiss(id)}>
            <Icon name="close" size={12} />
          </button>
        </div>
      ))}
    </div>
  )
}
