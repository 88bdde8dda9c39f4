// What doctor() finds: what may cost jobs or keep them from running, and what to do about it.

import type { Finding, FindingsPage } from '../../../shared/api.ts'
import { Icon } from '../../parts/icon.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
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
        {({ findings }) =>
          findings.length === 0 ? (
            <Empty title="Nothing is wrong">
              <p>
                The types, workers and schedules were checked, and the server of the storage as far as it can be asked.
              </p>
            </Empty>
          ) : (
            <ul class="findings">
              {findings.map((finding) => (
                <FindingItem key={`${finding.code} ${finding.sentence}`} finding={finding} />
              ))}
            </ul>
          )
        }
      </Loaded>
    </>
  )
}

function FindingItem({ finding: { code, severity, sentence, fix } }: { readonly finding: Finding }) {
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
          {severity} <code>{code}</code>
        </p>
      </div>
    </li>
  )
}
