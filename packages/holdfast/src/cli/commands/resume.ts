import { command } from '../command.ts'
import { pauseArguments, pauseOptions, setPaused } from '../set-paused.ts'

export const resume = command({
  name: 'resume',
  summary: 'end the pause of a type, or of a group of it',
  arguments: pauseArguments,
  options: pauseOptions,
  examples: [
    { line: 'holdfast resume mail --url sqlite:./jobs.db', does: 'a type' },
    { line: 'holdfast resume queue.mail --group tenant-7', does: 'one group' },
  ],
  run: (context) => setPaused(context, false),
})
