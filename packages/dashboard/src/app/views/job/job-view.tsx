// One job: what is the matter with it, its life as a timeline, then its data.

import type { JobPageData } from '../../../shared/api.ts'
import { jobsHref, typeFilter } from '../../lib/links.ts'
import { changeJobs } from '../../lib/run-action.ts'
import { StateBadge } from '../../parts/state-badge.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { TypeName } from '../../parts/type-name.tsx'
import { useKeys } from '../../state/keys.ts'
import { useLive } from '../../state/live.ts'
import { hrefOf, query, to } from '../../state/location.ts'
import { JobActions } from './job-actions.tsx'
import { JobTabs } from './job-tabs.tsx'
import { Timeline } from './timeline.tsx'

export function JobView() {
  const [face, name, id] = ['face', 'name', 'id'].map((key) => query.value.get(key) ?? '') as [string, string, string]
  const live = useLive<JobPageData>(to('job', { face, name, id }))
  const job = live.answer?.data
  useKeys({
    r: () => job && void changeJobs('retry', [job]),
    c: () => job && void changeJobs('cancel', [job]),
  })
  // A job that was there and is gone keeps its last state on the page; one that never was is an empty page.
  if (live.problem?.code === 'NOT_FOUND' && !job) {
    return (
      <Empty title="There is no such job">
        <p>It was removed, or its retention is over.</p>
        <p>
          <a href={hrefOf(to('/jobs', { q: typeFilter({ face, name }) }))}>Other jobs of this type</a>
        </p>
      </Empty>
    )
  }
  return (
    <Loaded live={live} what="Reading the job">
      {(data) => <Details job={data} />}
    </Loaded>
  )
}

function Details({ job }: { readonly job: JobPageData }) {
  return (
    <>
      <header class="page-head job-head">
        <div>
          <p class="crumbs">
            <a href={hrefOf('/jobs')}>Jobs</a>
            <span aria-hidden="true">/</span>
            <a href={jobsHref(typeFilter(job))}>
              <TypeName {...job} />
            </a>
          </p>
          <h1 class="job-id">
            <bdi>{job.id}</bdi> <StateBadge state={job.state} note={job.cancelling ? 'cancelling' : undefined} />
          </h1>
        </div>
        <JobActions job={job} />
      </header>
      <div class={`sentence tone-${job.state}`}>
        {job.reasons.map((reason) => (
          <p key={reason}>{reason}</p>
        ))}
      </div>
      <Timeline job={job} />
      <JobTabs job={job} />
    </>
  )
}
