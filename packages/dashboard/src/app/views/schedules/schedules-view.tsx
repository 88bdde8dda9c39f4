// The schedules: their rule in words, the last run and the next ones.

import { useState } from 'preact/hooks'
import type { ScheduleRow, SchedulesPage } from '../../../shared/api.ts'
import { ruleWords } from '../../../shared/rule-words.ts'
import { jobsHref, typeFilter } from '../../lib/links.ts'
import { runAction } from '../../lib/run-action.ts'
import { counted, instant } from '../../lib/words.ts'
import { Ago } from '../../parts/ago.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { TypeName } from '../../parts/type-name.tsx'
import { TableHead } from '../../parts/table-head.tsx'
import { useLive } from '../../state/live.ts'
import { may } from '../../state/session.ts'
import { RuleDialog } from './rule-dialog.tsx'
import { LastRun, RunStrip } from './run-strip.tsx'

const columns = ['Schedule', 'Rule', 'Runs', 'Last', 'Next']

export function SchedulesView() {
  const live = useLive<SchedulesPage>('schedules')
  const [edited, setEdited] = useState<ScheduleRow>()
  return (
    <>
      <header class="page-head">
        <h1>Schedules</h1>
      </header>
      <Loaded live={live} what="Reading the schedules">
        {({ schedules, cut }) =>
          schedules.length === 0 ? (
            <NoSchedules />
          ) : (
            <section class="panel" aria-label="Schedules">
              <table class="cards">
                <TableHead columns={columns} hasActions={may('schedules')} />
                <tbody>
                  {schedules.map((schedule) => (
                    <Row
                      key={`${schedule.face}/${schedule.owner}/${schedule.name}`}
                      schedule={schedule}
                      onEdit={setEdited}
                    />
                  ))}
                </tbody>
              </table>
              {cut > 0 && <p class="muted">{counted(cut, 'schedule')} with later runs are not shown.</p>}
            </section>
          )
        }
      </Loaded>
      {edited && <RuleDialog schedule={edited} onClose={() => setEdited(undefined)} />}
    </>
  )
}

interface RowProps {
  readonly schedule: ScheduleRow
  readonly onEdit: (schedule: ScheduleRow) => void
}

function Row({ schedule, onEdit }: RowProps) {
  const { face, owner, name, typeName, cron, everyMs, timeZone, lastAt, nextAt, next, paused, runs } = schedule
  const words = ruleWords(schedule)
  return (
    <tr>
      <th scope="row">
        <bdi>{name}</bdi>
        {paused && (
          <span class="badge state-cancelled" title={`since ${instant(paused.since)}`}>
            paused{paused.by === undefined ? '' : ` by ${paused.by}`}
          </span>
        )}
        <span class="line note wrap">
          adds{' '}
          <a class="quiet" href={jobsHref(typeFilter({ face, name: typeName }))}>
            <TypeName face={face} name={typeName} />
          </a>
        </span>
      </th>
      <td data-label="Rule" class="whole">
        {words ?? <code>{cron ?? `${everyMs} ms`}</code>}
        {cron !== undefined && (
          <span class="line note wrap">
            {words !== undefined && <code>{cron}</code>} {timeZone}
          </span>
        )}
      </td>
      <td data-label="Runs" class="strip-cell">
        <RunStrip runs={runs} isPaused={paused !== undefined} typeName={typeName} face={face} />
      </td>
      <td data-label="Last" class="num">
        <Ago at={lastAt} />
        <LastRun runs={runs} />
      </td>
      <td data-label="Next" class="num">
        <Ago at={nextAt} />
        {next.length > 0 && !paused && (
          <details>
            <summary>next {next.length}</summary>
            <ol class="slots">
              {next.map(({ at, local }) => (
                <li key={at}>
                  {local} <span class="muted">({instant(at)} here)</span>
                </li>
              ))}
            </ol>
          </details>
        )}
      </td>
      {may('schedules') && (
        <td class="right actions">
          <Buttons target={{ face, owner, name }} isPaused={paused !== undefined} onEdit={() => onEdit(schedule)} />
        </td>
      )}
    </tr>
  )
}

interface ButtonsProps {
  readonly target: { readonly face: string; readonly owner: string; readonly name: string }
  readonly isPaused: boolean
  readonly onEdit: () => void
}

function Buttons({ target, isPaused, onEdit }: ButtonsProps) {
  const { name } = target
  return (
    <span class="button-row">
      <button
        type="button"
        class="small"
        aria-label={`Fire now: ${name}`}
        onClick={() =>
          void runAction<{ id: string }>('schedules/fire', target, ({ id }) => `${name} added the job ${id}.`)
        }
      >
        Fire now
      </button>
      <button
        type="button"
        class="small"
        aria-label={`${isPaused ? 'Resume' : 'Pause'} ${name}`}
        onClick={() =>
          void runAction(
            isPaused ? 'schedules/resume' : 'schedules/pause',
            target,
            () => `${name} ${isPaused ? 'fires again' : 'is paused'}.`,
          )
        }
      >
        {isPaused ? 'Resume' : 'Pause'}
      </button>
      <button type="button" class="small" aria-label={`Change when ${name} fires`} onClick={onEdit}>
        Change…
      </button>
    </span>
  )
}

function NoSchedules() {
  return (
    <Empty title="No schedule yet">
      <p>A schedule adds a job at its times, once for the whole fleet:</p>
      <pre class="code">{`await queue.schedules.put('nightly', { cron: '30 2 * * *', timeZone: 'Europe/Berlin', payload: {} })`}</pre>
    </Empty>
  )
}
