// What the runs of a job logged. New lines come by themselves.

import type { JobPageData } from '../../../shared/api.ts'
import { counted, timeOfDay } from '../../lib/words.ts'

type Log = NonNullable<JobPageData['parts']>['log']

export function LogTab({ log: { lines, dropped } }: { readonly log: Log }) {
  if (lines.length === 0) {
    return (
      <p class="muted">
        Nothing was logged. A handler logs with <code>job.log(text, fields)</code>.
      </p>
    )
  }
  return (
    <>
      {dropped > 0 && <p class="muted">{counted(dropped, 'older line')} were deleted: a job keeps its last 1,000.</p>}
      <ol class="log">
        {lines.map(({ number, at, attempt, text, fields }) => (
          <li key={number}>
            <span class="muted num">{timeOfDay(at)}</span>
            <span class="muted num" title="run">
              #{attempt}
            </span>
            <span class="log-text">
              <bdi>{text}</bdi>
              {fields && <span class="muted"> {fieldsText(fields)}</span>}
            </span>
          </li>
        ))}
      </ol>
    </>
  )
}

const fieldsText = (fields: Readonly<Record<string, unknown>>): string =>
  Object.entries(fields)
    .map(([key, value]) => `${key}=${String(value)}`)
    .join(' ')
