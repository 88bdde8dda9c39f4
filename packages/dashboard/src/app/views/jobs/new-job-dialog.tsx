// A new job of a queue: its payload as JSON, and when it is due.

import { useState } from 'preact/hooks'
import type { AddJobResult } from 'holdfast'
import { jobPath } from '../../lib/links.ts'
import { instantOf } from '../../lib/clock.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { JsonField, jsonProblem } from '../../parts/json-field.tsx'
import { post } from '../../state/api.ts'
import { refresh } from '../../state/live.ts'
import { navigate } from '../../state/location.ts'
import { notify } from '../../state/notices.ts'

type Field = 'name' | 'id' | 'group' | 'runAt'

const labels: Readonly<Record<Exclude<Field, 'runAt'>, string>> = {
  name: 'Queue',
  id: 'Id; empty: a new UUID',
  group: 'Group; empty: none',
}

export function NewJobDialog({ queue, onClose }: { readonly queue: string; readonly onClose: () => void }) {
  const [values, setValues] = useState<Readonly<Record<Field, string>>>({ name: queue, id: '', group: '', runAt: '' })
  const [payload, setPayload] = useState('{}')
  const problem = payload.trim() === '' ? undefined : jsonProblem(payload)
  const add = async (event: Event): Promise<void> => {
    event.preventDefault()
    const { name, id, group, runAt } = values
    const given = {
      name,
      id: id === '' ? undefined : id,
      group: group === '' ? undefined : group,
      runAt: runAt === '' ? undefined : instantOf(runAt),
      payload: payload.trim() === '' ? undefined : payload,
    }
    try {
      const { status, id: added } = await post<AddJobResult>('jobs/add', given)
      if (status === 'duplicate') {
        notify(`${name} has a job ${added} already. Nothing was added.`, true)
        return
      }
      notify(`Added ${added}.`)
      onClose()
      navigate(jobPath({ face: 'queue', name, id: added }))
    } catch (error) {
      notify((error as Error).message, true)
    } finally {
      refresh()
    }
  }
  return (
    <Dialog title="New job" onClose={onClose} isWide>
      <form onSubmit={(event) => void add(event)}>
        <p class="muted">
          The handler of the queue runs it like any other. Its schema, if it has one, checks the payload when the job
          starts.
        </p>
        <div class="field-grid">
          {(Object.keys(labels) as (keyof typeof labels)[]).map((field) => (
            <label key={field} class="field">
              {labels[field]}
              <input
                type="text"
                required={field === 'name'}
                value={values[field]}
                onInput={({ currentTarget }) => setValues({ ...values, [field]: currentTarget.value })}
              />
            </label>
          ))}
          <label class="field">
            Due at, your time; empty: now
            <input
              type="datetime-local"
              value={values.runAt}
              onInput={({ currentTarget }) => setValues({ ...values, runAt: currentTarget.value })}
            />
          </label>
        </div>
        <JsonField
          id="new-payload"
          label="Payload, as JSON; empty: none"
          text={payload}
          problem={problem}
          rows={6}
          onText={setPayload}
        />
        <div class="dialog-actions">
          <button type="button" onClick={onClose}>
            Leave it
          </button>
          <button type="submit" class="primary" disabled={problem !== undefined || values.name === ''}>
            Add the job
          </button>
        </div>
      </form>
    </Dialog>
  )
}
