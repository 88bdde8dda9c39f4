// Cancels what is open of a chain and of the chains that it waits for, or deletes the chain once all of it has ended.

import { useState } from 'preact/hooks'
import type { TreeJob } from '../../../shared/api.ts'
import { largestPage } from '../../../shared/api.ts'
import { statesOfAction } from '../../../shared/states.ts'
import { changeJobs } from '../../lib/run-action.ts'
import { counted } from '../../lib/words.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { may } from '../../state/session.ts'

export function ChainButtons({ jobs }: { readonly jobs: readonly TreeJob[] }) {
  const [asked, setAsked] = useState<'cancel' | 'remove'>()
  // A write takes at most a page of jobs; the next click cancels the rest.
  const open = jobs.filter(({ state }) => statesOfAction.cancel.includes(state)).slice(0, largestPage)
  const isOver = jobs.every(({ state }) => statesOfAction.remove.includes(state))
  const close = (): void => setAsked(undefined)
  const act = (): void => {
    if (asked === 'cancel') void changeJobs('cancel', open).then(close)
    else void changeJobs('remove', jobs.slice(0, 1)).then(close)
  }
  return (
    <span class="button-row">
      {may('cancel') && open.length > 0 && (
        <button type="button" class="small" onClick={() => setAsked('cancel')}>
          Cancel what waits…
        </button>
      )}
      {may('remove') && isOver && (
        <button type="button" class="small" onClick={() => setAsked('remove')}>
          Delete the tree…
        </button>
      )}
      {asked && (
        <Dialog title={asked === 'cancel' ? 'Cancel what waits' : 'Delete the tree'} onClose={close}>
          <p>
            {asked === 'cancel'
              ? `${counted(open.length, 'job')} of the graph wait. They never run, and what waits for them fails or goes on as its code says. Jobs that run are left alone.`
              : `The records of ${counted(jobs.length, 'job')} are deleted, with payloads, results and errors. This cannot be undone.`}
          </p>
          <div class="dialog-actions">
            <button type="button" onClick={close}>
              Leave {asked === 'cancel' ? 'them' : 'it'}
            </button>
            <button type="button" class="danger" onClick={act}>
              {asked === 'cancel' ? 'Cancel them' : 'Delete'}
            </button>
          </div>
        </Dialog>
      )}
    </span>
  )
}
