import { command } from '../command.ts'
import { pauseArguments, pauseOptions, setPaused } from '../set-paused.ts'

export const pause = command({
  name: 'pause',
  summary: 'pause a type, or a group of it: no process takes its jobs',
  details: ['Running jobs go on, and new ones are accepted. A pause survives restarts.'],
  arguments: pauseArguments,
  options: pauseOptions,
  examples: [
    { line: 'holdfast pause mail --url sqlite:./jobs.db', does: 'a type' },
    { line: 'holdfast pause queue.mail --group tenant-7 --by ada', does: 'one group, with the name of the operator' },
  ],
  run: (context) => setPaused(context, true),
})
