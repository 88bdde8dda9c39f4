// Asks before an action on many jobs: how many, and what becomes of them. Above 100 the count is typed. Then it shows the progress.

import { useEffect, useState } from 'preact/hooks'
import type { NamedJob } from 'holdfast'
import type { BulkPreview, BulkState } from '../../../shared/api.ts'
import type { JobAction } from '../../../shared/states.ts'
import { after } from '../../lib/clock.ts'
import { changeJobs } from '../../lib/run-action.ts'
import { counted, number } from '../../lib/words.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { get, post } from '../../state/api.ts'
import { refresh } from '../../state/live.ts'
import { notify } from '../../state/notices.ts'
import { to } from '../../state/location.ts'

/** Given jobs, or all that match a filter. */
export type BulkTarget = { readonly jobs: readonly NamedJob[] } | { readonly q: string }

const words: Readonly<
  Record<JobAction, { readonly title: string; readonly button: string; readonly consequence: string }>
> = {
  retry: {
    title: 'Retry jobs',
    button: 'Retry',
    consequence: 'They are due at once, and their attempts are counted anew.',
  },
  cancel: {
    title: 'Cancel jobs',
    button: 'Cancel them',
    consequence: 'They never run. Jobs that run already are left alone.',
  },
  remove: {
    title: 'Remove jobs',
    button: 'Remove',
    consequence: 'Their records are deleted, with payloads, results and errors. This cannot be undone.',
  },
}
/** From so many jobs on, the count is typed. */
const typedFrom = 100
const pollMs = 500

interface BulkDialogProps {
  readonly action: JobAction
  readonly target: BulkTarget
  readonly onClose: () => void
  /** Given jobs have been changed. Not called if the person left them. */
  readonly onDone: () => void
}

export function BulkDialog({ action, target, onClose, onDone }: BulkDialogProps) {
  const [preview, setPreview] = useState<BulkPreview | undefined>(
    'jobs' in target ? { count: target.jobs.length, isExact: true } : undefined,
  )
  const [state, setState] = useState<BulkState>()
  const [typed, setTyped] = useState('')
  const [problem, setProblem] = useState('')
  const fail = (error: unknown): void => setProblem((error as Error).message)
  useEffect(() => {
    if ('q' in target)
      get<BulkPreview>(to('bulk/preview', { action, q: target.q })).then(({ data }) => setPreview(data), fail)
  }, [])
  useEffect(() => {
    if (!state?.isRunning) return undefined
    return after(
      pollMs,
      () => void get<BulkState>(to('bulk', { id: state.id })).then(({ data }) => setState(data), fail),
    )
  }, [state])
  useEffect(() => {
    if (state && !state.isRunning) refresh()
  }, [state?.isRunning])

  const { title, button, consequence } = words[action]
  const count = preview?.count ?? 0
  const isTyped = count <= typedFrom || typed.trim() === String(count)
  const change = async (jobs: readonly NamedJob[]): Promise<void> => {
    await changeJobs(action, jobs)
    onDone()
    onClose()
  }
  const start = (): void => {
    if ('jobs' in target) void change(target.jobs)
    else post<BulkState>(`bulk/${action}`, { q: target.q }).then(setState, fail)
  }
  return (
    <Dialog title={title} onClose={onClose}>
      {problem !== '' && <p class="problem">{problem}</p>}
      {state ? (
        <Progress state={state} onClose={onClose} onError={(error) => notify((error as Error).message, true)} />
      ) : (
        <>
          <p>
            {preview === undefined && problem === '' ? 'Counting…' : <Count preview={preview} target={target} />}{' '}
            {count > 0 && consequence}
          </p>
          {count > typedFrom && (
            <label class="field">
              Type {count} to confirm
              <input
                type="text"
                inputMode="numeric"
                value={typed}
                onInput={({ currentTarget }) => setTyped(currentTarget.value)}
              />
            </label>
          )}
          <div class="dialog-actions">
            <button type="button" onClick={onClose}>
              Leave them
            </button>
            <button
              type="button"
              class={action === 'retry' ? 'primary' : 'danger'}
              disabled={count === 0 || !isTyped}
              onClick={start}
            >
              {button}
            </button>
          </div>
        </>
      )}
    </Dialog>
  )
}

function Count({ preview, target }: { readonly preview: BulkPreview | undefined; readonly target: BulkTarget }) {
  if (!preview) return null
  const which = 'jobs' in target ? 'selected' : target.q === '' ? 'of all types' : `that match ${target.q}`
  if (preview.count === 0) return <>No job {which} is in a state that allows this.</>
  return (
    <strong>
      {preview.isExact ? '' : 'At least '}
      {counted(preview.count, 'job')} {which}.
    </strong>
  )
}

interface ProgressProps {
  readonly state: BulkState
  readonly onClose: () => void
  readonly onError: (error: unknown) => void
}

function Progress({ state, onClose, onError }: ProgressProps) {
  const { id, isRunning, total, done, skipped, failed, matched, stopped, errors } = state
  const through = done + skipped + failed
  return (
    <div role="status">
      <progress
        value={isRunning ? through : 1}
        max={isRunning ? Math.max(1, total ?? matched) : 1}
        aria-label="Progress"
      />
      <p>
        <strong>{isRunning ? 'Under way: ' : stopped ? 'Stopped: ' : 'Done: '}</strong>
        {number(done)} changed
        {skipped > 0 && `, ${number(skipped)} had changed their state since`}
        {failed > 0 && `, ${number(failed)} could not be changed`}.
      </p>
      {errors.length > 0 && (
        <ul class="errors">
          {errors.map((error, index) => (
            <li key={index}>{error}</li>
          ))}
        </ul>
      )}
      <div class="dialog-actions">
        {isRunning ? (
          <button type="button" onClick={() => void post('bulk/stop', { id }).catch(onError)}>
            Stop
          </button>
        ) : (
          <button type="button" class="primary" onClick={onClose}>
            Close
          </button>
        )}
      </div>
    </div>
  )
}
