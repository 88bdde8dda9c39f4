import { command } from '../command.ts'

/** Findings of one code that are printed. */
const shownOfCode = 3

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
      // One that many types have, such as no_worker while nothing runs, would hide the others.
      for (const [code, same] of Map.groupBy(findings, (finding) => finding.code)) {
        const { severity, fix } = same[0]!
        out.line({ text: `${severity}  ${code}`, style: severity === 'error' ? 'red' : 'yellow' })
        const fixes = new Set(same.map((finding) => finding.fix))
        for (const finding of same.slice(0, shownOfCode)) {
          out.line(`  ${finding.sentence}`)
          if (fixes.size > 1) out.line(`  ${finding.fix}`)
        }
        if (same.length > shownOfCode) {
          out.line({ text: `  and ${same.length - shownOfCode} more; --json prints all`, style: 'dim' })
        }
        if (fixes.size === 1) out.line(`  ${fix}`)
      }
    }
    return findings.some(({ severity }) => severity === 'error') ? 1 : 0
  },
})
