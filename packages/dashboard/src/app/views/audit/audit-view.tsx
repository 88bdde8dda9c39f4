// Who changed what, the latest first.

import type { AuditPage } from '../../../shared/api.ts'
import { instant } from '../../lib/words.ts'
import { Ago } from '../../parts/ago.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { TableHead } from '../../parts/table-head.tsx'
import { useLive } from '../../state/live.ts'
import { hrefOf, query, to } from '../../state/location.ts'

const columns = ['When', 'Who', 'What']

export function AuditView() {
  const cursor = query.value.get('cursor') ?? undefined
  const live = useLive<AuditPage>(to('audit', { cursor }))
  return (
    <>
      <header class="page-head">
        <h1>Audit</h1>
        <span class="muted">Changes by operators, and requests that were refused, of the last 30 days</span>
      </header>
      <Loaded live={live} what="Reading the audit log">
        {({ items, nextCursor }) =>
          items.length === 0 ? (
            <Empty title="No changes yet">
              <p>
                Retries, cancels, pauses and limits appear here, whether made by this dashboard, a terminal or code.
              </p>
            </Empty>
          ) : (
            <>
              <section class="panel" aria-label="Audit log">
                <table class="cards audit">
                  <TableHead columns={columns} />
                  <tbody>
                    {items.map(({ at, by, what, refused }, index) => (
                      <tr key={index}>
                        <td data-label="When" class="num" title={instant(at)}>
                          <Ago at={at} />
                        </td>
                        <th scope="row">
                          <bdi>{by ?? '–'}</bdi>
                        </th>
                        <td data-label="What" class="wide">
                          {refused && <span class="badge state-failed">refused</span>}
                          <bdi>{what}</bdi>
                        </td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </section>
              <p class="pager">
                {cursor !== undefined && <a href={hrefOf('/audit')}>Latest</a>}
                {nextCursor !== undefined && <a href={hrefOf(to('/audit', { cursor: nextCursor }))}>Older</a>}
              </p>
            </>
          )
        }
      </Loaded>
    </>
  )
}
