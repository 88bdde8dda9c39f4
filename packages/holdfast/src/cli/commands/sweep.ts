import { command } from '../command.ts'

export const sweep = command({
  name: 'sweep',
  summary: 'delete expired records, deduplication keys and key-value entries',
  details: [
    'Workers do this by themselves. It also ends waiting jobs whose deadline is over. Counts to keep are known to workers only.',
  ],
  examples: [
    { line: 'holdfast sweep --url sqlite:./jobs.db', does: 'once, to the end' },
    { line: 'holdfast sweep --json', does: 'the same, with the numbers for programs' },
  ],
  async run({ admin, out }) {
    const { jobs, ended, marks, entries } = await (await admin()).sweep()
    if (out.isJson) out.json({ jobs, ended, marks, entries })
    else out.line(`${jobs} records, ${marks} deduplication keys and ${entries} entries deleted, ${ended} jobs ended`)
    return 0
  },
})
