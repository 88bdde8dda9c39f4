// Sends one mail by SMTP. Rejects with the reply of the server: a 4xx reply is worth a retry, a 5xx reply is not.

import { connect } from 'node:net'
import { createInterface } from 'node:readline'
import { UnrecoverableError } from 'holdfast'

export interface Mail {
  readonly to: string
  readonly subject: string
  readonly text: string
}

export async function sendMail(port: number, mail: Mail, signal: AbortSignal): Promise<void> {
  const socket = connect({ port, host: '127.0.0.1', signal })
  const lines = createInterface({ input: socket })[Symbol.asyncIterator]()
  const expect = async (): Promise<void> => {
    const { value, done } = await lines.next()
    if (done) throw new Error('the mail server closed the connection')
    if (value.startsWith('5')) throw new UnrecoverableError(value)
    if (value.startsWith('4')) throw new Error(value)
  }
  const say = async (text: string): Promise<void> => {
    socket.write(`${text}\r\n`)
    await expect()
  }
  try {
    await expect()
    await say('HELO mailer')
    await say('MAIL FROM:<news@holdfast.example>')
    await say(`RCPT TO:<${mail.to}>`)
    await say('DATA')
    // A line that is a lone dot would end the mail.
    const body = mail.text.replaceAll(/^\./gm, '..')
    await say(`Subject: ${mail.subject}\r\nTo: ${mail.to}\r\n\r\n${body}\r\n.`)
    socket.write('QUIT\r\n')
  } finally {
    socket.end()
  }
}
