import { command } from '../command.ts'
import { findJob, idArgument, typeOption, noJob } from '../find-job.ts'
import { typeText } from '../find-type.ts'
import { jobLines } from '../job-lines.ts'
import { timeline } from '../timeline.ts'

export const job = command({
  name: 'job',
  summary: 'show one job: why it is where it is, its data and its history',
  arguments: [idArgument],
  options: {
    type: typeOption,
    full: { kind: 'flag', summary: 'show long values and stacks whole' },
  },
  examples: [
    { line: 'holdfast job m1 --url sqlite:./jobs.db', does: 'everything about the job' },
    { line: 'holdfast job m1 --type queue.mail --json', does: 'the same for programs' },
  ],
  async run({ admin, args, options, out, host }) {
    const handle = await admin()
    const found = await findJob(handle, args.id, options.type)
    if (!found) {
      out.note(noJob(args.id))
      return 1
    }
    if (out.isJson) {
      out.json({ type: typeText(found), ...found })
      return 0
    }
    const { face, name, id } = found
    for (const { sentence } of (await handle.explain({ face, name, id })).reasons) out.line(sentence)
    out.line()
    for (const parts of jobLines(found, { now: host.clock.now(), isFull: options.full === true })) out.line(...parts)
    out.line()
    for (const parts of timeline(found, host.clock.now())) out.line(...parts)
    return 0
  },
})
