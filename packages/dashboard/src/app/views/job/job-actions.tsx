// What can be done with a job in its state. A running job is asked to stop; a removal is asked for twice.

import { useState } from 'preact/hooks'
import type { JobPageData } from '../../../shared/api.ts'
import { statesOfAction } from '../../../shared/states.ts'
import { changeJobs } from '../../lib/run-action.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { useKeys } from '../../state/keys.ts'
import { may } from '../../state/session.ts'
import { ReplayDialog } from './replay-dialog.tsx'
import { RescheduleDialog } from './reschedule-dialog.tsx'

/** Jobs of tasks carry their own id, and jobs inside a chain follow others. */
const canReplay = ({ face, chain }: JobPageData): boolean => (face === 'queue' || face === 'chain') && !chain

export function JobActions({ job }: { readonly job: JobPageData }) {
  const [isAsking, setAsking] = useState(false)
  const [isReplaying, setReplaying] = useState(false)
  const [isMoving, setMoving] = useState(false)
  const mayReplay = may('edit') && canReplay(job)
  useKeys({ e: () => mayReplay && setReplaying(true) })
  const { state, cancelling } = job
  const isWaiting = state === 'scheduled' || state === 'failing'
  return (
    <div class="page-actions">
      {may('revive') && statesOfAction.retry.includes(state) && (
        <button type="button" class="primary" onClick={() => void changeJobs('retry', [job])}>
          Retry
        </button>
      )}
      {may('revive') && isWaiting && (
        <button type="button" class="primary" onClick={() => void changeJobs('run-now', [job])}>
          Run now
        </button>
      )}
      {may('revive') && (isWaiting || state === 'queued') && (
        <button type="button" onClick={() => setMoving(true)}>
          Reschedule…
        </button>
      )}
      {isMoving && <RescheduleDialog job={job} onClose={() => setMoving(false)} />}
      {may('cancel') && statesOfAction.cancel.includes(state) && (
        <button type="button" onClick={() => void changeJobs('cancel', [job])}>
          Cancel
        </button>
      )}
      {may('cancel') && state === 'processing' && (
        <button type="button" disabled={cancelling} onClick={() => void changeJobs('cancel', [job], { abort: true })}>
          {cancelling ? 'Asked to stop' : 'Ask to stop'}
        </button>
      )}
      {mayReplay && (
        <button type="button" onClick={() => setReplaying(true)}>
          Replay…
        </button>
      )}
      {isReplaying && <ReplayDialog job={job} onClose={() => setReplaying(false)} />}
      {may('remove') && statesOfAction.remove.includes(state) && (
        <button type="button" onClick={() => setAsking(true)}>
          Remove
        </button>
      )}
      {isAsking && (
        <Dialog title="Remove the job" onClose={() => setAsking(false)}>
          <p>
            Its record is deleted, with payload, result and error
            {job.chain ? ', and so is the whole chain that it belongs to' : ''}. This cannot be undone.
          </p>
          <div class="dialog-actions">
            <button type="button" onClick={() => setAsking(false)}>
              Leave it
            </button>
            <button
              type="button"
              class="danger"
              onClick={() => void changeJobs('remove', [job]).then(() => setAsking(false))}
            >
              Remove
            </button>
          </div>
        </Dialog>
      )}
    </div>
  )
}
