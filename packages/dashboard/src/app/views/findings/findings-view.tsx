// What doctor() finds: what may cost jobs or keep them from running, and what to do about it.

import type { FindingsPage, SeenFinding } from '../../../shared/api.ts'
import { Ago } from '../../parts/ago.tsx'
import { Icon } from '../../parts/icon.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { counted, instant, number } from '../../lib/words.ts'
import { useLive } from '../../state/live.ts'

export function FindingsView() {
  const live = useLive<FindingsPage>('findings')
  return (
    <>
      <header class="page-head">
        <h1>Findings</h1>
        <span class="muted">Checked every 30 s while this page is open</span>
      </header>
      <Loaded live={live} what="Looking for what is wrong">
        {({ findings, cut }) =>
          findings.length === 0 ? (
            <Empty title="Nothing is wrong">
              <p>
                The types, workers and schedules were checked, and the server of the storage as far as it can be asked.
              </p>
            </Empty>
          ) : (
            <ul class="findings">
              {[...Map.groupBy(findings, ({ code }) => code)].map(([code, same]) => (
                <SameFindings key={code} findings={same} />
              ))}
              {cut > 0 && <li class="muted">{counted(cut, 'more finding')} are not shown.</li>}
            </ul>
          )
        }
      </Loaded>
    </>
  )
}

/** Findings of one code that are shown whole. The others are sentences, behind a fold: a fleet that stands still has one per type. */
const shownWhole = 3

function SameFindings({ findings }: { readonly findings: readonly SeenFinding[] }) {
  const more = findings.slice(shownWhole)
  return (
    <>
      {findings.slice(0, shownWhole).map((finding) => (
        <FindingItem key={finding.sentence} finding={finding} />
      ))}
      {more.length > 0 && (
        <li class="panel finding-more">
          <details>
            <summary>
              {number(more.length)} more like this <code>{more[0]!.code}</code>
            </summary>
            <ul>
              {more.map(({ sentence }) => (
                <li key={sentence}>
                  <bdi>{sentence}</bdi>
                </li>
              ))}
            </ul>
          </details>
        </li>
      )}
    </>
  )
}

function FindingItem({ finding: { code, severity, sentence, fix, since } }: { readonly finding: SeenFinding }) {
  return (
    <li class="panel finding">
      <span class={`finding-icon state-${severity === 'error' ? 'failed' : 'failing'}`}>
        <Icon name="warning" />
      </span>
      <div>
        <p>
          <strong>
            <bdi>{sentence}</bdi>
          </strong>
        </p>
        <p>
          <bdi>
            {/* Code stands between backticks. */}
            {fix.split('`').map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part))}
          </bdi>
        </p>
        <p class="muted">
          {severity} <code>{code}</code>{' '}
          <span title={`${instant(since)}, by this server of the dashboard`}>first seen</span> <Ago at={since} />
        </p>
      </div>
    </li>
  )
}
