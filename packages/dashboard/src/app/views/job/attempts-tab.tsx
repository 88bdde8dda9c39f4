// What happened to a job: when it was added, and its runs that have ended, of which a storage keeps the last 10.

import type { JobPageData } from '../../../shared/api.ts'
import { counted, duration, instant } from '../../lib/words.ts'
import { TableHead } from '../../parts/table-head.tsx'

const columns = ['Run', 'Outcome', 'Worker', 'Began', 'Took', 'Error']

export function AttemptsTab({ job }: { readonly job: JobPageData }) {
  const { history, createdAt, attempts, state } = job
  const [first] = history
  // Earlier runs are no longer stored.
  const missing = first ? first.attempt - 1 : 0
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
              <bdi class="name">{workerId ?? '–'}</bdi>
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
        {missing > 0 && (
          <tr>
            <td colspan={columns.length} class="muted">
              {counted(missing, 'earlier run')} {missing === 1 ? 'is' : 'are'} no longer stored.
            </td>
          </tr>
        )}
        <tr>
          <th scope="row" class="num muted">
            –
          </th>
          <td data-label="Outcome">added</td>
          <td data-label="Worker" class="muted">
            –
          </td>
          <td data-label="Began" class="num">
            {instant(createdAt)}
          </td>
          <td data-label="Took" class="right num muted">
            {first && missing === 0 ? `waited ${duration(first.startedAt - createdAt)}` : '–'}
          </td>
          <td data-label="Error" class="muted">
            {history.length > 0
              ? '–'
              : attempts > 0 && state === 'processing'
                ? 'Its first run goes on.'
                : 'No run yet.'}
          </td>
        </tr>
      </tbody>
    </table>
  )
}
