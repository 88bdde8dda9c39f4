import { changeArguments, changeJobs, changeOptions } from '../change-jobs.ts'
import { command } from '../command.ts'

export const retry = command({
  name: 'retry',
  aliases: ['revive'],
  summary: 'run failed or cancelled jobs again, with fresh attempts',
  details: ['With --all it asks first. Without --state it takes the failed jobs.'],
  arguments: changeArguments,
  options: changeOptions,
  asks: true,
  examples: [
    { line: 'holdfast retry m1 --url sqlite:./jobs.db', does: 'one job' },
    { line: 'holdfast retry --all --type mail --per-second 50', does: 'all failed jobs of a type, 50 per second' },
    { line: 'holdfast retry --all --state cancelled --yes', does: 'the cancelled jobs of every type, without asking' },
  ],
  run: (context) =>
    changeJobs(context, {
      verb: 'Retry',
      done: ['retried'],
      states: ['failed'],
      asksAlways: false,
      one: (admin, job) => admin.jobs.retry(job),
      many: (admin, filter, options) => admin.bulk.retry(filter, options),
    }),
})
