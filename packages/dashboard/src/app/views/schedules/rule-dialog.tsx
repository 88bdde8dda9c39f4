// Another rule for a schedule, with the runs that it would have.

import { useEffect, useState } from 'preact/hooks'
import type { PreviewedSlot } from 'holdfast'
import type { SchedulePreview, ScheduleRow } from '../../../shared/api.ts'
import { ruleWords } from '../../../shared/rule-words.ts'
import { after } from '../../lib/clock.ts'
import { runAction } from '../../lib/run-action.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { get } from '../../state/api.ts'
import { to } from '../../state/location.ts'

/** Time without a key before the preview is asked for, in ms. */
const quietMs = 200

export function RuleDialog({ schedule, onClose }: { readonly schedule: ScheduleRow; readonly onClose: () => void }) {
  const { face, owner, name } = schedule
  const isCron = schedule.cron !== undefined
  const [rule, setRule] = useState(isCron ? schedule.cron! : String((schedule.everyMs ?? 0) / 1_000))
  const [timeZone, setTimeZone] = useState(schedule.timeZone)
  const [next, setNext] = useState<readonly PreviewedSlot[]>(schedule.next)
  const [problem, setProblem] = useState('')
  const everyMs = Math.round(Number(rule) * 1_000)
  useEffect(() => {
    const asked = isCron ? { cron: rule, timeZone } : { everyMs: String(everyMs) }
    const preview = async (): Promise<void> => {
      try {
        setNext((await get<SchedulePreview>(to('schedules/preview', asked))).data.next)
        setProblem('')
      } catch (error) {
        setProblem((error as Error).message)
      }
    }
    return after(quietMs, () => void preview())
  }, [rule, timeZone])
  const save = async (event: Event): Promise<void> => {
    event.preventDefault()
    const when = isCron ? { cron: rule, timeZone } : { everyMs }
    const say = (): string => `${name} fires by its new rule, from now on.`
    if (await runAction('schedules/put', { face, owner, name, ...when }, say)) onClose()
  }
  return (
    <Dialog title={`When ${name} fires`} onClose={onClose}>
      <form onSubmit={(event) => void save(event)}>
        <p class="muted">It holds until code with another release declares the schedule again.</p>
        <label class="field">
          {isCron ? 'Cron expression' : 'Every so many seconds'}
          <input
            type="text"
            inputMode={isCron ? 'text' : 'numeric'}
            value={rule}
            aria-invalid={problem !== ''}
            aria-describedby="rule-problem"
            onInput={({ currentTarget }) => setRule(currentTarget.value)}
          />
        </label>
        {isCron && (
          <label class="field">
            Time zone
            <input type="text" value={timeZone} onInput={({ currentTarget }) => setTimeZone(currentTarget.value)} />
          </label>
        )}
        <p id="rule-problem" class="bad-text" role="status">
          {problem}
        </p>
        {problem === '' && (
          <div class="preview">
            <strong>{ruleWords(isCron ? { cron: rule } : { everyMs }) ?? 'Next runs'}</strong>
            <ol class="slots">
              {next.map(({ at, local }) => (
                <li key={at} class="num">
                  {local}
                </li>
              ))}
            </ol>
          </div>
        )}
        <div class="dialog-actions">
          <button type="button" onClick={onClose}>
            Leave it
          </button>
          <button type="submit" class="primary" disabled={problem !== ''}>
            Set the rule
          </button>
        </div>
      </form>
    </Dialog>
  )
}
