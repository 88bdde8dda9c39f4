// A replay: a new job with the payload of this one, edited as JSON, and what the edit changes.

import { useState } from 'preact/hooks'
import type { ReplayResult } from 'holdfast'
import type { JobPageData } from '../../../shared/api.ts'
import { lineDiff } from '../../../shared/line-diff.ts'
import { jobPath } from '../../lib/links.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { JsonField, jsonProblem } from '../../parts/json-field.tsx'
import { post } from '../../state/api.ts'
import { refresh } from '../../state/live.ts'
import { navigate } from '../../state/location.ts'
import { notify } from '../../state/notices.ts'

/** Why the payload cannot be edited here. Undefined: it can. */
function obstacle({ parts }: JobPageData): string | undefined {
  const payload = parts?.payload
  if (!payload) return 'You may not see the payload, so it is used as it is.'
  if (payload.cutFrom !== undefined) return 'The payload is too large to be edited here, so it is used as it is.'
  if (payload.note !== undefined || jsonProblem(payload.text) !== undefined)
    return 'The payload is no JSON, so it is used as it is.'
  return undefined
}

export function ReplayDialog({ job, onClose }: { readonly job: JobPageData; readonly onClose: () => void }) {
  // The job may change while the dialogue is open: what is edited is what was there when it opened.
  const [original] = useState(job.parts?.payload?.text ?? '')
  const [why] = useState(obstacle(job))
  const [text, setText] = useState(original)
  const problem = why === undefined ? jsonProblem(text) : undefined
  const isEdited = why === undefined && text !== original
  const send = async (event: Event): Promise<void> => {
    event.preventDefault()
    if (problem !== undefined) return
    const { face, name, id } = job
    try {
      const result = await post<ReplayResult>('jobs/replay', { face, name, id, ...(isEdited && { payload: text }) })
      if (result.status !== 'added') {
        notify(
          result.status === 'not_found'
            ? 'The job is gone: removed, or its retention is over.'
            : 'Only jobs of queues, and first jobs of chains, can be replayed.',
          true,
        )
        return
      }
      notify(`Replayed as ${result.id}.`)
      onClose()
      navigate(jobPath({ face, name, id: result.id }))
    } catch (error) {
      notify((error as Error).message, true)
    } finally {
      refresh()
    }
  }
  return (
    <Dialog title="Replay" onClose={onClose} isWide>
      <form onSubmit={(event) => void send(event)}>
        <p class="muted">
          A new job of {job.name} is added, and is due now. This one stays as it is. The new one has no group and no
          deduplication key.
        </p>
        {why === undefined ? (
          <>
            <JsonField
              id="replay-payload"
              label="Payload, as JSON"
              text={text}
              problem={problem}
              rows={Math.min(16, Math.max(4, original.split('\n').length))}
              onText={setText}
            />
            {isEdited && problem === undefined && <Diff before={original} after={text} />}
          </>
        ) : (
          <p>{why}</p>
        )}
        <div class="dialog-actions">
          <button type="button" onClick={onClose}>
            Leave it
          </button>
          <button type="submit" class="primary" disabled={problem !== undefined}>
            {isEdited ? 'Replay with this payload' : 'Replay'}
          </button>
        </div>
      </form>
    </Dialog>
  )
}

/** Unchanged lines around a change. */
const context = 2
const signs = { same: ' ', removed: '−', added: '+' } as const
const words = { same: '', removed: 'removed: ', added: 'added: ' } as const

function Diff({ before, after }: { readonly before: string; readonly after: string }) {
  const lines = lineDiff(before, after)
  const isNear = (index: number): boolean =>
    lines.slice(Math.max(0, index - context), index + context + 1).some(({ kind }) => kind !== 'same')
  return (
    <div class="diff" tabIndex={0} role="group" aria-label="What the edit changes">
      {lines.map(({ kind, text }, index) =>
        isNear(index) ? (
          <div key={index} class={`diff-line ${kind}`}>
            <span aria-hidden="true">{signs[kind]}</span>
            <span class="hidden-text">{words[kind]}</span>
            <bdi>{text}</bdi>
          </div>
        ) : index === 0 || isNear(index - 1) ? (
          <div key={index} class="diff-line gap">
            …
          </div>
        ) : null,
      )}
    </div>
  )
}
