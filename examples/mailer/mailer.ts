// A newsletter goes out: one queue writes the texts and is waited for (request/response), another sends the mails and tries
// again while the mail server is busy. It ends when every mail is out, and knows if one is missing.

import { MemoryStorage, Queue } from 'holdfast'
import { MailServer, type MailServerOptions } from './mail-server.ts'
import { type Mail, sendMail } from './send-mail.ts'
import { watch } from './view.ts'

export interface MailerOptions {
  readonly mails: number
  readonly out: NodeJS.WriteStream
  readonly loses?: MailServerOptions['loses']
}

export interface MailerReport {
  readonly sent: number
  readonly refused: number
  /** Told to be sent, and not with the server. */
  readonly lost: readonly string[]
}

export async function runMailer({ mails, out, loses }: MailerOptions): Promise<MailerReport> {
  const server = new MailServer({
    isBusy: (to, delivery) => delivery <= Number(to.slice('reader-'.length, to.indexOf('@'))) % 4,
    isUnknown: (to) => to.startsWith('reader-13@'),
    loses,
  })
  const port = await server.listen()
  const storage = new MemoryStorage()

  const writer = new Queue<{ name: string }, string>({ storage, name: 'write', concurrency: 4 })
  writer.execute(async ({ payload }) => {
    await new Promise((resolve) => setTimeout(resolve, 20))
    return `Dear ${payload.name},\n\nyour jobs are safe with us.\n`
  })

  const mailer = new Queue<Mail>({
    storage,
    name: 'send',
    concurrency: 8,
    maxRetries: 5,
    backoff: { type: 'exponential', delayMs: 400 },
  })
  mailer.execute(({ payload, signal }) => sendMail(port, payload, signal))

  const view = watch(mailer, mails, out)
  const ended = countEnds(mailer, mails)
  await Promise.all([writer.start(), mailer.start()])

  const addresses = Array.from({ length: mails }, (_, index) => `reader-${index + 1}@holdfast.example`)
  await Promise.all(
    addresses.map(async (to) => {
      const text = await writer.enqueueAndWait(`text for ${to}`, { name: to.split('@')[0]! })
      // The id deduplicates: whoever asks for this mail again gets the one that is under way.
      await mailer.enqueue(`newsletter 1 to ${to}`, { to, subject: 'News', text })
    }),
  )
  const refused = await ended
  await Promise.all([writer.stop(), mailer.stop()])
  await server.close()
  view.close()
  return {
    sent: server.received.size,
    refused: refused.size,
    lost: addresses.filter((to) => !server.received.has(to) && !refused.has(`newsletter 1 to ${to}`)),
  }
}

/** Resolves with the ids of those that were given up, once each mail has an end. */
function countEnds(mailer: Queue<Mail>, mails: number): Promise<Set<string>> {
  return new Promise((resolve) => {
    const refused = new Set<string>()
    let open = mails
    const end = (): void => {
      if (--open === 0) resolve(refused)
    }
    mailer.on('completed', end)
    mailer.on('failed', (id) => {
      refused.add(id)
      end()
    })
  })
}
