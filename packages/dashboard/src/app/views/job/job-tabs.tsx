// The data of a job, by tab. The tab is in the URL.

import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import type { JobPageData, ShownValue } from '../../../shared/api.ts'
import { bytes } from '../../lib/words.ts'
import { query, setQuery } from '../../state/location.ts'
import { AttemptsTab } from './attempts-tab.tsx'
import { ChainTab } from './chain-tab.tsx'
import { DetailsTab } from './details-tab.tsx'
import { ErrorTab } from './error-tab.tsx'
import { LogTab } from './log-tab.tsx'

interface Tab {
  readonly id: string
  readonly title: string
  readonly show: () => ComponentChildren
}

/** Px beside the current tab, so that the next one shows that there is more. */
const tabMargin = 8

export function JobTabs({ job }: { readonly job: JobPageData }) {
  const tabs = tabsOf(job)
  const wanted = query.value.get('tab')
  const current = tabs.find(({ id }) => id === wanted) ?? tabs[0]!
  // On a narrow screen the list of tabs scrolls: the one that the URL names may be out of sight.
  useEffect(() => {
    const tab = document.querySelector<HTMLElement>(`#tab-${current.id}`)
    const list = tab?.parentElement
    if (!tab || !list) return
    const [from, to] = [tab.offsetLeft - list.offsetLeft, tab.offsetLeft - list.offsetLeft + tab.offsetWidth]
    if (from < list.scrollLeft) list.scrollLeft = from - tabMargin
    else if (to > list.scrollLeft + list.clientWidth) list.scrollLeft = to - list.clientWidth + tabMargin
  }, [current.id])
  const move = (event: KeyboardEvent): void => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
    if (step === undefined) return
    const next = tabs[(tabs.indexOf(current) + step + tabs.length) % tabs.length]!
    setQuery({ tab: next.id }, { replace: true })
    document.querySelector<HTMLElement>(`#tab-${next.id}`)?.focus()
  }
  return (
    <section class="panel tabs">
      <div role="tablist" aria-label="Data of the job" onKeyDown={move}>
        {tabs.map(({ id, title }) => (
          <button
            key={id}
            id={`tab-${id}`}
            type="button"
            role="tab"
            aria-selected={id === current.id}
            aria-controls="tab-panel"
            tabIndex={id === current.id ? 0 : -1}
            onClick={() => setQuery({ tab: id }, { replace: true })}
          >
            {title}
          </button>
        ))}
      </div>
      <div role="tabpanel" id="tab-panel" aria-labelledby={`tab-${current.id}`} tabIndex={0}>
        {current.show()}
      </div>
    </section>
  )
}

/** The first is the one that matters most in the state of the job. */
function tabsOf(job: JobPageData): Tab[] {
  const { parts, error, history } = job
  const tabs: Tab[] = []
  if (error) tabs.push({ id: 'error', title: 'Error', show: () => <ErrorTab error={error} /> })
  tabs.push({ id: 'payload', title: 'Payload', show: () => <Value value={parts?.payload} isHidden={!parts} /> })
  if (parts?.result) tabs.push({ id: 'result', title: 'Result', show: () => <Value value={parts.result} /> })
  if (parts?.progress) tabs.push({ id: 'progress', title: 'Progress', show: () => <Value value={parts.progress} /> })
  if (parts) tabs.push({ id: 'log', title: `Log (${parts.log.lines.length})`, show: () => <LogTab log={parts.log} /> })
  if (job.face === 'chain' || job.chain || job.blockers.length > 0)
    tabs.push({ id: 'chain', title: 'Chain', show: () => <ChainTab job={job} /> })
  tabs.push({ id: 'attempts', title: `Attempts (${history.length})`, show: () => <AttemptsTab job={job} /> })
  tabs.push({ id: 'details', title: 'Details', show: () => <DetailsTab job={job} /> })
  return tabs
}

function Value({ value, isHidden = false }: { readonly value: ShownValue | undefined; readonly isHidden?: boolean }) {
  if (isHidden)
    return <p class="muted">You may see jobs, but not their payloads: this needs the permission viewPayload.</p>
  if (!value) return <p class="muted">None.</p>
  return (
    <>
      {value.note !== undefined && <p class="muted">{value.note}</p>}
      <pre class="code">{value.text}</pre>
      {value.cutFrom !== undefined && <p class="muted">Cut: the whole value has {bytes(value.cutFrom)}.</p>}
    </>
  )
}
