// npm start [-- --mails 60] [--data directory] [--lose reader-4@holdfast.example]
//
// Stop it with Ctrl-C, or kill it, and start it again: it carries on. (--lose shows that a lost mail is noticed.)

import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

// Before everything else: a signal during the import below, which takes most of the start, must end the program cleanly too.
const stop = new AbortController()
process.once('SIGINT', () => stop.abort())
process.once('SIGTERM', () => stop.abort())

const { values } = parseArgs({
  options: {
    mails: { type: 'string', default: '60' },
    data: { type: 'string', default: fileURLToPath(new URL('./data', import.meta.url)) },
    lose: { type: 'string' },
  },
})
const mails = Number(values.mails)
if (!Number.isInteger(mails) || mails < 1 || mails > 10_000) {
  console.error(`--mails: expected an integer 1 … 10000, got ${values.mails}`)
  process.exit(2)
}

console.log(`Sending a newsletter to ${mails} readers. The mail server is busy at times; Holdfast tries again.\n`)
const { runMailer } = await import('./mailer.ts')
const { sent, refused, lost, open, kept } = await runMailer({
  mails,
  directory: values.data,
  out: process.stdout,
  signal: stop.signal,
  loses: (to) => to === values.lose,
})
if (open > 0) {
  console.log(`\nStopped: ${sent} mails sent, ${open} to go. Start it again, and it carries on.`)
  process.exitCode = 130
} else {
  console.log(`\n${sent - lost.length} mails sent, ${refused} refused by the server, ${lost.length} lost.`)
  console.log(`\nSee them in the dashboard:\n\n  npm run dashboard -- --url sqlite:${relative('', kept!)}`)
}
if (lost.length > 0) {
  console.error(`Lost: ${lost.join(', ')}`)
  process.exitCode = 1
}
