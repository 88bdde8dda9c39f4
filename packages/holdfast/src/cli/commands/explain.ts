import { command } from '../command.ts'
import { findJob, idArgument, typeOption, noJob } from '../find-job.ts'
import { typeText } from '../find-type.ts'

export const explain = command({
  name: 'explain',
  summary: 'say why a job waits, runs or is gone',
  details: [
    'The decisive reason comes first. A reason without a time ends when a person or another job does something.',
  ],
  arguments: [idArgument],
  options: { type: typeOption },
  examples: [
    { line: 'holdfast explain m1 --url sqlite:./jobs.db', does: 'the reasons, a sentence each' },
    { line: 'holdfast explain m1 --type queue.mail --json', does: 'the same with codes, for programs' },
  ],
  async run({ admin, args, options, out }) {
    const handle = await admin()
    const found = await findJob(handle, args.id, options.type)
    if (!found) {
      out.note(noJob(args.id))
      return 1
    }
    const { face, name, id } = found
    const explanation = await handle.explain({ face, name, id })
    if (out.isJson) out.json({ type: typeText(found), ...explanation })
    else for (const { code, sentence } of explanation.reasons) out.line({ text: code, style: 'bold' }, `  ${sentence}`)
    return 0
  },
})
