import type { JobLogLine } from '../../engine/job/log-lines.ts'
import { endedStates } from '../../engine/operate/job-filter.ts'
import { command, type Context } from '../command.ts'
import { findJob, idArgument, typeOption, noJob } from '../find-job.ts'
import { pauseFor } from '../pause-for.ts'
import { toJson } from '../output.ts'
import { instantText } from '../time.ts'

export const logs = command({
  name: 'logs',
  summary: 'print the lines that a job logged',
  arguments: [idArgument],
  options: {
    type: typeOption,
    attempt: { kind: 'integer', summary: 'only the lines of this run' },
    follow: { kind: 'flag', short: 'f', summary: 'go on until the job has ended' },
  },
  examples: [
    { line: 'holdfast logs m1 --url sqlite:./jobs.db', does: 'all lines, oldest first' },
    { line: 'holdfast logs m1 --follow', does: 'the lines of a running job as they come' },
  ],
  async run({ admin, args, options, out, host }) {
    const handle = await admin()
    const first = await findJob(handle, args.id, options.type)
    if (!first) {
      out.note(noJob(args.id))
      return 1
    }
    let [job, shown]: [typeof first | null, number] = [first, 0]
    if (job.log.dropped > 0) out.note(`${job.log.dropped} older lines were deleted.`)
    for (;;) {
      for (const line of job.log.lines) {
        const isWanted = line.number > shown && (options.attempt === undefined || line.attempt === options.attempt)
        if (isWanted) print(out, line)
      }
      shown = job.log.lines.at(-1)?.number ?? shown
      if (!options.follow || endedStates.includes(job.state)) return 0
      if (!(await pauseFor(host, 500))) return 0
      job = await handle.jobs.get(first)
      if (!job) return 0
    }
  },
})

function print(out: Context['out'], line: JobLogLine): void {
  if (out.isJson) return out.json(line, { many: true })
  const { at, attempt, text, fields } = line
  const rest = fields === undefined ? '' : ` ${toJson(fields, 0)}`
  out.line({ text: `${instantText(at)} run ${attempt}`, style: 'dim' }, `  ${text}${rest}`)
}
