// The limits of each type with their use, what code declares, and what an operator set over it.

import { useState } from 'preact/hooks'
import type { GroupLimitsInfo } from 'holdfast'
import type { LimitsPage, LimitsRow } from '../../../shared/api.ts'
import { runAction } from '../../lib/run-action.ts'
import { counted, instant, number, period } from '../../lib/words.ts'
import { Ago } from '../../parts/ago.tsx'
import { Bar } from '../../parts/bar.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { TypeName } from '../../parts/type-name.tsx'
import { TableHead } from '../../parts/table-head.tsx'
import { useLive } from '../../state/live.ts'
import { may } from '../../state/session.ts'
import { LimitDialog, type LimitTarget } from './limit-dialog.tsx'

const columns = ['Type', 'At a time', 'Rate', 'Waiting', 'Next start', 'Set by']

export function LimitsView() {
  const live = useLive<LimitsPage>('limits')
  const [edited, setEdited] = useState<LimitTarget>()
  return (
    <>
      <header class="page-head">
        <h1>Limits</h1>
      </header>
      <Loaded live={live} what="Reading the limits">
        {({ types, cut }) =>
          types.length === 0 ? (
            <Empty title="No type yet">
              <p>Limits belong to types, and a type appears with its first job.</p>
            </Empty>
          ) : (
            <section class="panel" aria-label="Limits">
              <table class="cards">
                <TableHead columns={columns} hasActions={may('limits') || may('pause')} />
                <tbody>
                  {types.flatMap((type) => [
                    <Row key={`${type.face}/${type.name}`} of={typeTarget(type)} onEdit={setEdited} />,
                    ...type.groups.map((group) => (
                      <Row
                        key={`${type.face}/${type.name}/${group.group}`}
                        of={groupTarget(type, group)}
                        onEdit={setEdited}
                      />
                    )),
                  ])}
                </tbody>
              </table>
              {cut > 0 && <p class="muted">{counted(cut, 'more type')} are not shown.</p>}
            </section>
          )
        }
      </Loaded>
      {edited && <LimitDialog of={edited} onClose={() => setEdited(undefined)} />}
    </>
  )
}

const typeTarget = ({ face, name, effective, override, use, declared }: LimitsRow): LimitTarget => {
  const { concurrency, rate, maxWaiting } = effective
  return { face, name, limits: { concurrency, rate, maxWaiting }, override, use, isDeclared: declared !== undefined }
}

/** A group calls its concurrency `limit`. */
function groupTarget({ face, name, declared, pausedGroups }: LimitsRow, info: GroupLimitsInfo): LimitTarget {
  const { group, effective, override, use } = info
  const set = override && { ...override, limits: { ...override.limits, concurrency: override.limits.limit } }
  const limits = { concurrency: effective.limit, rate: effective.rate, maxWaiting: effective.maxWaiting }
  const isDeclared = declared?.limits.group !== undefined
  return { face, name, group, limits, override: set, use, isDeclared, isPaused: pausedGroups.includes(group) }
}

function Row({ of, onEdit }: { readonly of: LimitTarget; readonly onEdit: (target: LimitTarget) => void }) {
  const { face, name, group, limits, override, use, isDeclared, isPaused } = of
  const { concurrency = Infinity, rate, maxWaiting = Infinity } = limits
  const { freesAt, slowedUntil } = use
  const what = group === undefined ? name : `group ${group} of ${name}`
  return (
    <tr class={group === undefined ? undefined : 'sub-row'}>
      <th scope="row">
        {group === undefined ? (
          <TypeName face={face} name={name} />
        ) : (
          <>
            <span class="face">group</span> <bdi>{group}</bdi>
            {isPaused && <span class="badge state-cancelled">paused</span>}
          </>
        )}
      </th>
      <td data-label="At a time">
        {concurrency === Infinity ? (
          <Free used={use.running} word="run" />
        ) : (
          <Bar used={use.running} of={concurrency} label="Running" />
        )}
      </td>
      <td data-label="Rate">
        {rate ? (
          <>
            <Bar used={use.used ?? 0} of={rate.limit} label="Rate" />
            <span class="line note">per {period(rate.perMs)}</span>
          </>
        ) : (
          <span class="muted">none</span>
        )}
      </td>
      <td data-label="Waiting">
        {maxWaiting === Infinity ? (
          <Free used={use.waiting} word="wait" />
        ) : (
          <Bar used={use.waiting} of={maxWaiting} label="Waiting" />
        )}
      </td>
      <td data-label="Next start" class="num">
        {slowedUntil !== undefined ? (
          <span title="A handler was told to slow down">
            <Ago at={slowedUntil} />
          </span>
        ) : freesAt === undefined ? (
          <span class="muted">{use.waiting > 0 ? 'now' : '–'}</span>
        ) : freesAt === Infinity ? (
          'when a job ends'
        ) : (
          <Ago at={freesAt} />
        )}
      </td>
      <td data-label="Set by">
        {override ? (
          <span title={instant(override.at)}>{override.by ?? 'an operator'}</span>
        ) : (
          <span class="muted">{isDeclared ? 'code' : '–'}</span>
        )}
      </td>
      {(may('limits') || may('pause')) && (
        <td class="right actions">
          <span class="button-row">
            {may('pause') && group !== undefined && (
              <button
                type="button"
                class="small"
                aria-label={`${isPaused ? 'Resume' : 'Pause'} ${what}`}
                onClick={() =>
                  void runAction(
                    isPaused ? 'types/resume' : 'types/pause',
                    { face, name, group },
                    () => `${what} ${isPaused ? 'goes on' : 'is paused'}.`,
                  )
                }
              >
                {isPaused ? 'Resume' : 'Pause'}
              </button>
            )}
            {may('limits') && (
              <button type="button" class="small" onClick={() => onEdit(of)} aria-label={`Set the limits of ${what}`}>
                Set…
              </button>
            )}
            {may('limits') && override && (
              <button
                type="button"
                class="small"
                aria-label={`Reset limits of ${what}`}
                onClick={() =>
                  void runAction(
                    'limits/clear',
                    { face, name, group },
                    () => `${what} has the limits of its code again.`,
                  )
                }
              >
                Reset
              </button>
            )}
          </span>
        </td>
      )}
    </tr>
  )
}

function Free({ used, word }: { readonly used: number; readonly word: string }) {
  return (
    <span class="num">
      {number(used)} <span class="muted">{word}</span>
    </span>
  )
}
