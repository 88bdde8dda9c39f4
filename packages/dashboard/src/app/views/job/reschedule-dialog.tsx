// Another time for a job that waits.

import { useState } from 'preact/hooks'
import type { JobPageData } from '../../../shared/api.ts'
import { instantOf } from '../../lib/clock.ts'
import { changeJobs } from '../../lib/run-action.ts'
import { instant, localText } from '../../lib/words.ts'
import { Dialog } from '../../parts/dialog.tsx'

export function RescheduleDialog({ job, onClose }: { readonly job: JobPageData; readonly onClose: () => void }) {
  const [text, setText] = useState(localText(job.runAt))
  const save = async (event: Event): Promise<void> => {
    event.preventDefault()
    if (await changeJobs('reschedule', [job], { runAt: instantOf(text) })) onClose()
  }
  return (
    <Dialog title="Reschedule" onClose={onClose}>
      <form onSubmit={(event) => void save(event)}>
        <p class="muted">It is due at {instant(job.runAt)}. A time in the past makes it due at once.</p>
        <label class="field">
          Due at, in your time zone
          <input
            type="datetime-local"
            step="1"
            required
            value={text}
            onInput={({ currentTarget }) => setText(currentTarget.value)}
          />
        </label>
        <div class="dialog-actions">
          <button type="button" onClick={onClose}>
            Leave it
          </button>
          <button type="submit" class="primary" disabled={text === ''}>
            Reschedule
          </button>
        </div>
      </form>
    </Dialog>
  )
}
