// Sets limits of a type, or of a group of it, over those of its code. An empty field leaves what the code declares.

import { useState } from 'preact/hooks'
import type { LimitsUse } from 'holdfast'
import { runAction } from '../../lib/run-action.ts'
import { Dialog } from '../../parts/dialog.tsx'

type Field = 'concurrency' | 'rate' | 'per' | 'maxWaiting'

const labels: Readonly<Record<Field, string>> = {
  concurrency: 'Jobs that run at a time',
  rate: 'Jobs that start …',
  per: '… per so many seconds',
  maxWaiting: 'Jobs that may wait',
}

interface Limits {
  readonly concurrency?: number | undefined
  readonly rate?: { readonly limit: number; readonly perMs: number } | undefined
  readonly maxWaiting?: number | undefined
}

/** A type or a group, with its limits and their use. */
export interface LimitTarget {
  readonly face: string
  readonly name: string
  readonly group?: string
  /** In force. */
  readonly limits: Limits
  readonly override?: { readonly limits: Limits; readonly at: number; readonly by?: string | undefined } | undefined
  readonly use: LimitsUse
  readonly isDeclared: boolean
  /** Of a group. */
  readonly isPaused?: boolean
}

export function LimitDialog({ of, onClose }: { readonly of: LimitTarget; readonly onClose: () => void }) {
  const set: Limits = of.override?.limits ?? {}
  const what = of.group === undefined ? of.name : `group ${of.group} of ${of.name}`
  const [values, setValues] = useState<Readonly<Record<Field, string>>>({
    concurrency: textOf(set.concurrency),
    rate: textOf(set.rate?.limit),
    per: textOf(set.rate && set.rate.perMs / 1_000),
    maxWaiting: textOf(set.maxWaiting),
  })
  const save = async (event: Event): Promise<void> => {
    event.preventDefault()
    const { face, name, group } = of
    const isDone = await runAction(
      'limits/set',
      { face, name, group, limits: patchOf(values, group !== undefined) },
      () => `Limits of ${what} are set, for all processes.`,
    )
    if (isDone) onClose()
  }
  return (
    <Dialog title={`Limits of ${what}`} onClose={onClose}>
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
function patchOf({ concurrency, rate, per, maxWaiting }: Readonly<Record<Field, string>>, isGroup: boolean): object {
  const isRate = rate.trim() !== '' || per.trim() !== ''
  return {
    [isGroup ? 'limit' : 'concurrency']: numberOf(concurrency),
    rate: isRate ? { limit: Number(rate || 0), perMs: Math.round(Number(per || 1) * 1_000) } : null,
    maxWaiting: numberOf(maxWaiting),
  }
}
