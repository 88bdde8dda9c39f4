import { command } from '../command.ts'

export const doctor = command({
  name: 'doctor',
  summary: 'find what may cost jobs or keep them from running',
  details: ['Exits with 1 if there is an error among the findings.'],
  examples: [
    { line: 'holdfast doctor --url sqlite:./jobs.db', does: 'every finding, with what to do about it' },
    { line: 'holdfast doctor --json', does: 'the same for programs' },
  ],
  async run({ admin, out }) {
    const findings = await (await admin()).doctor()
    if (out.isJson) out.json({ findings })
    else if (findings.length === 0) out.line('Nothing was found.')
    else {
      for (const { code, severity, sentence, fix } of findings) {
        out.line({ text: `${severity}  ${code}`, style: severity === 'error' ? 'red' : 'yellow' })
        out.line(`  ${sentence}`)
        out.line(`  ${fix}`)
      }
    }
    return findings.some(({ severity }) => severity === 'error') ? 1 : 0
  },
})
