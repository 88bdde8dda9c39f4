// The fields of a job, and the jobs that it is linked with.

import type { ComponentChildren } from 'preact'
import type { NamedJob } from 'holdfast'
import type { JobPageData } from '../../../shared/api.ts'
import { formatFilter } from '../../../shared/filter.ts'
import { jobHref, jobsHref } from '../../lib/links.ts'
import { duration, instant } from '../../lib/words.ts'
import { CopyButtons } from './copy-buttons.tsx'

export function DetailsTab({ job }: { readonly job: JobPageData }) {
  const { face, name, createdAt, runAt, startedAt, finishedAt, expiresAt, leaseUntil, deadlineAt, timeoutMs } = job
  const { priority, group, weight, deduplicationKey, search, snoozes, workerId, chain, blockers, cancelReason } = job
  return (
    <>
      <CopyButtons job={job} />
      <dl class="fields">
        <Field name="Face and type">{`${face} ${name}`}</Field>
        <Field name="Added">{instant(createdAt)}</Field>
        <Field name="Due">{instant(runAt)}</Field>
        {startedAt !== undefined && <Field name="Last run began">{instant(startedAt)}</Field>}
        {finishedAt !== undefined && <Field name="Ended">{instant(finishedAt)}</Field>}
        {leaseUntil !== undefined && <Field name="Lease until">{instant(leaseUntil)}</Field>}
        {deadlineAt !== undefined && <Field name="Must start by">{instant(deadlineAt)}</Field>}
        {expiresAt !== undefined && <Field name="Record is kept until">{instant(expiresAt)}</Field>}
        {timeoutMs !== undefined && <Field name="Longest run">{duration(timeoutMs)}</Field>}
        {workerId !== undefined && <Field name="Worker">{workerId}</Field>}
        <Field name="Priority">{priority}</Field>
        {weight !== undefined && <Field name="Weight">{weight}</Field>}
        {snoozes > 0 && <Field name="Snoozed">{snoozes}</Field>}
        {cancelReason !== undefined && <Field name="Reason of the cancel">{cancelReason}</Field>}
        {deduplicationKey !== undefined && <Field name="Deduplication key">{deduplicationKey}</Field>}
        {group !== undefined && (
          <Field name="Group">
            <a href={fieldHref('group', group)}>{group}</a>
          </Field>
        )}
        {chain && (
          <Field name="First job of its chain">
            <JobLink job={chain} />
          </Field>
        )}
        {blockers.length > 0 && (
          <Field name="Waits, or waited, for">
            {blockers.map((blocker) => (
              <JobLink key={blocker.id} job={blocker} />
            ))}
          </Field>
        )}
        {Object.entries(search ?? {}).map(([field, value]) => (
          <Field key={field} name={field}>
            <a href={fieldHref(field, String(value))}>{String(value)}</a>
          </Field>
        ))}
      </dl>
    </>
  )
}

/** The jobs with the same value. */
const fieldHref = (key: string, value: string): string => jobsHref(formatFilter([{ key, operator: ':', value }]))

function Field({ name, children }: { readonly name: string; readonly children: ComponentChildren }) {
  return (
    <div>
      <dt>
        <bdi>{name}</bdi>
      </dt>
      <dd>
        <bdi>{children}</bdi>
      </dd>
    </div>
  )
}

function JobLink({ job }: { readonly job: NamedJob }) {
  return (
    <a class="line" href={jobHref(job)}>
      {job.name} <bdi>{job.id}</bdi>
    </a>
  )
}
