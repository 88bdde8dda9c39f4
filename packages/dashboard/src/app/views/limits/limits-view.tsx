// The limits of each type with their use, what code declares, and what an operator set over it.

import { useState } from 'preact/hooks'
import type { LimitsRow, LimitsPage } from '../../../shared/api.ts'
import { runAction } from '../../lib/run-action.ts'
import { counted, duration, instant, number } from '../../lib/words.ts'
import { Ago } from '../../parts/ago.tsx'
import { Bar } from '../../parts/bar.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { TypeName } from '../../parts/type-name.tsx'
import { TableHead } from '../../parts/table-head.tsx'
import { useLive } from '../../state/live.ts'
import { may } from '../../state/session.ts'
import { LimitDialog } from './limit-dialog.tsx'

const columns = ['Type', 'At a time', 'Rate', 'Waiting', 'Frees', 'Set by']

export function LimitsView() {
  const live = useLive<LimitsPage>('limits')
  const [edited, setEdited] = useState<LimitsRow>()
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
                <TableHead columns={columns} hasActions={may('limits')} />
                <tbody>
                  {types.map((type) => (
                    <Row key={`${type.face}/${type.name}`} type={type} onEdit={() => setEdited(type)} />
                  ))}
                </tbody>
              </table>
              {cut > 0 && <p class="muted">{counted(cut, 'more type')} are not shown.</p>}
            </section>
          )
        }
      </Loaded>
      {edited && <LimitDialog type={edited} onClose={() => setEdited(undefined)} />}
    </>
  )
}

function Row({ type, onEdit }: { readonly type: LimitsRow; readonly onEdit: () => void }) {
  const { face, name, effective, declared, override, use } = type
  const { concurrency = Infinity, rate, maxWaiting = Infinity } = effective
  const { freesAt, slowedUntil } = use
  return (
    <tr>
      <th scope="row">
        <TypeName face={face} name={name} />
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
            <span class="line muted">per {duration(rate.perMs)}</span>
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
      <td data-label="Frees" class="num">
        {slowedUntil !== undefined ? (
          <span title="A handler was told to slow down">
            <Ago at={slowedUntil} />
          </span>
        ) : freesAt === undefined ? (
          <span class="muted">free</span>
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
          <span class="muted">{declared ? 'code' : '–'}</span>
        )}
      </td>
      {may('limits') && (
        <td class="right">
          <span class="button-row">
            <button type="button" class="small" onClick={onEdit} aria-label={`Set the limits of ${name}`}>
              Set
            </button>
            {override && (
              <button
                type="button"
                class="small"
                aria-label={`Reset limits of ${name}`}
                onClick={() =>
                  void runAction('limits/clear', { face, name }, () => `${name} has the limits of its code again.`)
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
      {number(used)} <span class="muted">{word}, no limit</span>
    </span>
  )
}
