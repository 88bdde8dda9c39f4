// Where the time went: the types whose handlers ran longest in the range of the charts, as bars.

import type { HistoryPage } from '../../../shared/api.ts'
import { jobsHref, typeFilter } from '../../lib/links.ts'
import { duration, number } from '../../lib/words.ts'
import { TableHead } from '../../parts/table-head.tsx'
import { TypeName } from '../../parts/type-name.tsx'

const mostRows = 8
const figures = ['Completed', 'To retry', 'Failed', 'Per run']

export function BusiestTypes({ types }: Pick<HistoryPage, 'types'>) {
  const busy = types.filter(({ ranMs }) => ranMs > 0)
  const total = busy.reduce((sum, { ranMs }) => sum + ranMs, 0)
  // One type alone has all of the time: the chart says the rest.
  if (busy.length < 2) return null
  return (
    <section class="panel" aria-labelledby="busiest-title">
      <h2 id="busiest-title">Where the time went</h2>
      <table class="cards">
        <TableHead columns={['Type', 'Handlers ran', ...figures]} right={figures} />
        <tbody>
          {busy.slice(0, mostRows).map(({ face, name, completed, retried, failed, ranMs }) => (
            <tr key={`${face}/${name}`}>
              <th scope="row">
                {face === '' ? (
                  <span class="muted">{name}</span>
                ) : (
                  <a href={jobsHref(typeFilter({ face, name }))}>
                    <TypeName face={face} name={name} />
                  </a>
                )}
              </th>
              <td data-label="Handlers ran">
                <span class="bar-line">
                  <span class="bar" aria-hidden="true">
                    <span class="bar-fill" style={{ width: `${(ranMs / total) * 100}%` }} />
                  </span>
                  <span class="num">
                    {duration(ranMs)} <span class="muted">{percent(ranMs / total)}</span>
                  </span>
                </span>
              </td>
              {[completed, retried, failed].map((count, index) => (
                <td key={index} class={count === 0 ? 'right num zero' : 'right num'} data-label={figures[index]}>
                  {count === 0 ? <span class="muted">0</span> : number(count)}
                </td>
              ))}
              <td class="right num" data-label="Per run">
                {perRun(ranMs / Math.max(1, completed + retried + failed))}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

const perRun = (ms: number): string => (ms < 1 ? '< 1 ms' : duration(ms))
const percent = (share: number): string => (share < 0.01 ? '< 1 %' : `${Math.round(share * 100)} %`)
