// The runs of a job that have ended: a storage keeps the last 10.

import type { JobPageData } from '../../../shared/api.ts'
import { duration, instant } from '../../lib/words.ts'
import { TableHead } from '../../parts/table-head.tsx'

const columns = ['Run', 'Outcome', 'Worker', 'Began', 'Took', 'Error']

export function AttemptsTab({ job: { history } }: { readonly job: JobPageData }) {
  if (history.length === 0) return <p class="muted">No run has ended yet.</p>
  return (
    <table class="cards">
      <TableHead columns={columns} right={['Took']} />
      <tbody>
        {history.toReversed().map(({ attempt, outcome, workerId, startedAt, endedAt, error }) => (
          <tr key={attempt}>
            <th scope="row" class="num">
              {attempt}
            </th>
            <td data-label="Outcome">{outcome}</td>
            <td data-label="Worker">
              <bdi>{workerId ?? '–'}</bdi>
            </td>
            <td data-label="Began" class="num">
              {instant(startedAt)}
            </td>
            <td data-label="Took" class="right num">
              {duration(endedAt - startedAt)}
            </td>
            <td data-label="Error" class="error-line">
              {error ? <bdi>{error.message.split('\n', 1)[0]}</bdi> : '–'}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
