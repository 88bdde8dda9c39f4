// npm start [-- --mails 60] [--lose reader-4@holdfast.example]   (the second: to see that a lost mail is noticed)

import { parseArgs } from 'node:util'
import { runMailer } from './mailer.ts'

const { values } = parseArgs({ options: { mails: { type: 'string', default: '60' }, lose: { type: 'string' } } })
const mails = Number(values.mails)
if (!Number.isInteger(mails) || mails < 1 || mails > 10_000) {
  console.error(`--mails: expected an integer 1 … 10000, got ${values.mails}`)
  process.exit(2)
}

console.log(`Sending a newsletter to ${mails} readers. The mail server is busy at times; Holdfast tries again.\n`)
const { sent, refused, lost } = await runMailer({
  mails,
  out: process.stdout,
  loses: (to) => to === values.lose,
})
console.log(`\n${sent} mails sent, ${refused} refused by the server, ${lost.length} lost.`)
if (lost.length > 0) {
  console.error(`Lost: ${lost.join(', ')}`)
  process.exitCode = 1
}
