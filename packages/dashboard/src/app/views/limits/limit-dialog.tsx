// Sets limits of a type over those of its code. An empty field leaves what the code declares.

import { useState } from 'preact/hooks'
import type { LimitsRow } from '../../../shared/api.ts'
import { runAction } from '../../lib/run-action.ts'
import { Dialog } from '../../parts/dialog.tsx'

type Field = 'concurrency' | 'rate' | 'per' | 'maxWaiting'

const labels: Readonly<Record<Field, string>> = {
  concurrency: 'Jobs that run at a time',
  rate: 'Jobs that start …',
  per: '… per so many seconds',
  maxWaiting: 'Jobs that may wait',
}

export function LimitDialog({ type, onClose }: { readonly type: LimitsRow; readonly onClose: () => void }) {
  const set = type.override?.limits ?? {}
  const [values, setValues] = useState<Readonly<Record<Field, string>>>({
    concurrency: textOf(set.concurrency),
    rate: textOf(set.rate?.limit),
    per: textOf(set.rate && set.rate.perMs / 1_000),
    maxWaiting: textOf(set.maxWaiting),
  })
  const save = async (event: Event): Promise<void> => {
    event.preventDefault()
    const { face, name } = type
    const isDone = await runAction(
      'limits/set',
      { face, name, limits: patchOf(values) },
      () => `Limits of ${name} are set, for all processes.`,
    )
    if (isDone) onClose()
  }
  return (
    <Dialog title={`Limits of ${type.name}`} onClose={onClose}>
      <form onSubmit={(event) => void save(event)}>
        <p class="muted">
          They hold in every process, over what code declares. An empty field leaves what code declares.
        </p>
        {(Object.keys(labels) as Field[]).map((field) => (
          <label key={field} class="field">
            {labels[field]}
            <input
              type="number"
              min="1"
              step={field === 'per' ? 'any' : '1'}
              value={values[field]}
              onInput={({ currentTarget }) => setValues({ ...values, [field]: currentTarget.value })}
            />
          </label>
        ))}
        <div class="dialog-actions">
          <button type="button" onClick={onClose}>
            Leave them
          </button>
          <button type="submit" class="primary">
            Set limits
          </button>
        </div>
      </form>
    </Dialog>
  )
}

const textOf = (value: number | null | undefined): string =>
  value === undefined || value === null || value === Infinity ? '' : String(value)

const numberOf = (text: string): number | null => (text.trim() === '' ? null : Number(text))

/** Null removes what an operator set before. */
function patchOf({ concurrency, rate, per, maxWaiting }: Readonly<Record<Field, string>>): object {
  const isRate = rate.trim() !== '' || per.trim() !== ''
  return {
    concurrency: numberOf(concurrency),
    rate: isRate ? { limit: Number(rate || 0), perMs: Math.round(Number(per || 1) * 1_000) } : null,
    maxWaiting: numberOf(maxWaiting),
  }
}
