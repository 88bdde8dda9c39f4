// The app: asks who looks, then shows the view that the URL names.

import { render } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { Failure, Session } from '../shared/api.ts'
import { after, setServerTime } from './lib/clock.ts'
import { Empty, Problem } from './parts/states.tsx'
import { Shell } from './parts/shell.tsx'
import { type ApiError, get } from './state/api.ts'
import { startKeys } from './state/keys.ts'
import { startLive } from './state/live.ts'
import { hrefOf, path, startRouter } from './state/location.ts'
import { session } from './state/session.ts'
import { applyTheme } from './state/theme.ts'
import { AuditView } from './views/audit/audit-view.tsx'
import { FindingsView } from './views/findings/findings-view.tsx'
import { JobView } from './views/job/job-view.tsx'
import { JobsView } from './views/jobs/jobs-view.tsx'
import { LimitsView } from './views/limits/limits-view.tsx'
import { OverviewView } from './views/overview/overview-view.tsx'
import { PeersView } from './views/peers/peers-view.tsx'
import { SchedulesView } from './views/schedules/schedules-view.tsx'
import { TypesView } from './views/types/types-view.tsx'
import { WorkersView } from './views/workers/workers-view.tsx'

const views = {
  '/': { View: OverviewView, title: 'Overview' },
  '/jobs': { View: JobsView, title: 'Jobs' },
  '/job': { View: JobView, title: 'Job' },
  '/types': { View: TypesView, title: 'Types' },
  '/schedules': { View: SchedulesView, title: 'Schedules' },
  '/workers': { View: WorkersView, title: 'Workers' },
  '/limits': { View: LimitsView, title: 'Limits' },
  '/findings': { View: FindingsView, title: 'Findings' },
  '/audit': { View: AuditView, title: 'Audit' },
  '/peers': { View: PeersView, title: 'Peers' },
} as const

const retryMs = 3_000

async function open(): Promise<void> {
  const { at, data } = await get<Session>('session')
  setServerTime(at)
  session.value = data
}

function App() {
  const [problem, setProblem] = useState<Failure>()
  useEffect(() => {
    const start = (): void => {
      open().then(
        () => setProblem(undefined),
        ({ code, message }: ApiError) => {
          setProblem({ code, error: message })
          after(retryMs, start)
        },
      )
    }
    start()
  }, [])
  if (problem) {
    return (
      <main class="alone">
        <Problem what="The start of the dashboard" problem={problem} />
      </main>
    )
  }
  return session.value ? (
    <Shell>
      <CurrentView />
    </Shell>
  ) : null
}

function CurrentView() {
  const found = Object.hasOwn(views, path.value) ? views[path.value as keyof typeof views] : undefined
  useEffect(() => void (document.title = `${found?.title ?? 'Not found'} · Holdfast`), [found])
  if (found) return <found.View />
  return (
    <Empty title="There is no such page">
      <p>
        Begin at the <a href={hrefOf('/')}>overview</a>.
      </p>
    </Empty>
  )
}

applyTheme()
startRouter()
startKeys()
startLive()
render(<App />, document.querySelector('#app')!)
