// The commands, in the order of the help. A new one is a file in commands/ and a word in a group here.

import type { AnyCommand } from './command.ts'
import { bench } from './commands/bench.ts'
import { cancel } from './commands/cancel.ts'
import { check } from './commands/check.ts'
import { completion } from './commands/completion.ts'
import { dashboard } from './commands/dashboard.ts'
import { doctor } from './commands/doctor.ts'
import { enqueue } from './commands/enqueue.ts'
import { explain } from './commands/explain.ts'
import { job } from './commands/job.ts'
import { jobs } from './commands/jobs.ts'
import { limits } from './commands/limits.ts'
import { logs } from './commands/logs.ts'
import { migrate } from './commands/migrate.ts'
import { pause } from './commands/pause.ts'
import { redrive } from './commands/redrive.ts'
import { remove } from './commands/remove.ts'
import { resume } from './commands/resume.ts'
import { retry } from './commands/retry.ts'
import { schedules } from './commands/schedules.ts'
import { status } from './commands/status.ts'
import { sweep } from './commands/sweep.ts'
import { tail } from './commands/tail.ts'
import { top } from './commands/top.ts'
import { work } from './commands/work.ts'
import { workers } from './commands/workers.ts'

interface CommandGroup {
  readonly title: string
  readonly commands: readonly AnyCommand[]
}

export const commandGroups: readonly CommandGroup[] = [
  { title: 'Look', commands: [status, top, dashboard, jobs, job, explain, logs, tail, workers, doctor] },
  { title: 'Change jobs', commands: [enqueue, retry, redrive, cancel, remove] },
  { title: 'Steer', commands: [pause, resume, limits, schedules] },
  { title: 'Run', commands: [work, check, migrate, sweep, bench, completion] },
]

export const commands: readonly AnyCommand[] = commandGroups.flatMap((group) => group.commands)
