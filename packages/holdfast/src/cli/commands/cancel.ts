import { waitingStates } from '../../engine/operate/job-filter.ts'
import { changeArguments, changeJobs, changeOptions } from '../change-jobs.ts'
import { command } from '../command.ts'

export const cancel = command({
  name: 'cancel',
  summary: 'cancel jobs that wait; with --abort or --force, running ones too',
  arguments: changeArguments,
  options: {
    ...changeOptions,
    abort: { kind: 'flag', summary: 'abort the signal of running jobs' },
    force: { kind: 'flag', summary: 'end running jobs as cancelled at once, whatever their handlers do' },
    reason: { kind: 'text', summary: 'why; it is kept in the record' },
  },
  asks: true,
  examples: [
    { line: 'holdfast cancel m2 --yes --url sqlite:./jobs.db', does: 'one job, without asking' },
    { line: "holdfast cancel m3 --abort --reason 'wrong address'", does: 'a job that runs' },
    { line: 'holdfast cancel --all --type report', does: 'everything of a type that waits' },
  ],
  run(context) {
    const { abort = false, force = false, reason } = context.options
    const how = { abort, force, reason }
    return changeJobs(context, {
      verb: 'Cancel',
      done: ['cancelled', 'cancelling'],
      states: abort || force ? [...waitingStates, 'processing'] : waitingStates,
      asksAlways: true,
      one: (admin, job) => admin.jobs.cancel(job, how),
      many: (admin, filter, options) => admin.bulk.cancel(filter, { ...options, ...how }),
    })
  },
})
