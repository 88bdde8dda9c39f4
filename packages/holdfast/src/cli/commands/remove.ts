import { endedStates } from '../../engine/operate/job-filter.ts'
import { changeArguments, changeJobs, changeOptions } from '../change-jobs.ts'
import { command } from '../command.ts'

export const remove = command({
  name: 'remove',
  summary: 'delete the records of jobs that have ended',
  details: [
    'A job of a chain is removed with its chain. Jobs that wait or run are left as they are: cancel them first.',
  ],
  arguments: changeArguments,
  options: changeOptions,
  asks: true,
  examples: [
    { line: 'holdfast remove m1 --yes --url sqlite:./jobs.db', does: 'one record, without asking' },
    {
      line: 'holdfast remove --all --state failed --to 2026-01-01',
      does: 'failed jobs that were added before this year',
    },
  ],
  run: (context) =>
    changeJobs(context, {
      verb: 'Remove',
      done: ['removed'],
      states: endedStates,
      asksAlways: true,
      one: (admin, job) => admin.jobs.remove(job),
      many: (admin, filter, options) => admin.bulk.remove(filter, options),
    }),
})
