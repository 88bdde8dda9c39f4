// A newsletter goes out: one queue writes the texts and is waited for (request/response), another sends the mails and tries
// again while the mail server is busy. Everything is in a SQLite file: stopped in the middle, it carries on when it is
// started again. It ends when every mail is out, and knows if one is missing.

import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { Queue } from 'holdfast'
import { SqliteStorage } from 'holdfast/sqlite'
import { MailServer, type MailServerOptions } from './mail-server.ts'
import { type Mail, sendMail } from './send-mail.ts'
import { watch } from './view.ts'

export interface MailerOptions {
  readonly mails: number
  /** Where its database is. */
  readonly directory: string
  readonly out: NodeJS.WriteStream
  /** Aborts: it lets go of what it holds, and keeps the rest for the next start. */
  readonly signal: AbortSignal
  readonly loses?: MailServerOptions['loses']
}

export interface MailerReport {
  readonly sent: number
  readonly refused: number
  /** Told to be sent, and not with the server. */
  readonly lost: readonly string[]
  /** Not yet sent: it was stopped. */
  readonly open: number
}

/** What a killed process held is free after this time. */
const leaseMs = 3_000

export async function runMailer({ mails, directory, out, signal, loses }: MailerOptions): Promise<MailerReport> {
  mkdirSync(directory, { recursive: true })
  const server = new MailServer({
    file: join(directory, 'taken.txt'),
    isBusy: (to, delivery) => delivery <= Number(to.slice('reader-'.length, to.indexOf('@'))) % 4,
    isUnknown: (to) => to.startsWith('reader-13@'),
    loses,
  })
  const port = await server.listen()
  const storage = new SqliteStorage({ path: join(directory, 'newsletter.db') })

  const writer = new Queue<{ name: string }, string>({ storage, name: 'write', concurrency: 4, leaseMs })
  writer.execute(async ({ payload }) => {
    await new Promise((resolve) => setTimeout(resolve, 20))
    return `Dear ${payload.name},\n\nyour jobs are safe with us.\n`
  })

  const mailer = new Queue<Mail>({
    storage,
    name: 'send',
    concurrency: 8,
    // The server is busy at most three times for a mail, and as often again after a restart.
    maxRetries: 8,
    backoff: { type: 'exponential', delayMs: 400, maxDelayMs: 1_600 },
    leaseMs,
  })
  mailer.execute(({ payload, signal: aborted }) => sendMail(port, payload, aborted))

  const addresses = Array.from({ length: mails }, (_, index) => `reader-${index + 1}@holdfast.example`)
  const ends = new Ends(addresses.map(idOf))
  mailer.on('completed', (id) => ends.add(id, 'sent'))
  mailer.on('failed', (id) => ends.add(id, 'refused'))
  const view = watch(mailer, mails, out)

  // What earlier runs have ended: those mails are not sent again.
  await storage.connect()
  for (const id of addresses.map(idOf)) {
    const state = (await mailer.getStatus(id))?.state
    if (state === 'completed') ends.add(id, 'sent')
    if (state === 'failed') ends.add(id, 'refused')
  }
  if (ends.size > 0) view.carryOn(ends.sent, ends.size - ends.sent)

  await Promise.all([writer.start(), mailer.start()])
  const enqueued = addresses.map(async (to) => {
    if (ends.has(idOf(to))) return
    const text = await writer.enqueueAndWait(`text for ${to}`, { name: to.split('@')[0]! }, { signal })
    // The id deduplicates: whoever asks for this mail again gets the one that is under way.
    await mailer.enqueue(idOf(to), { to, subject: 'News', text })
  })
  await Promise.race([Promise.all([...enqueued, ends.all]), stopped(signal)])
  await Promise.all([writer.stop({ timeout: 1_000 }), mailer.stop({ timeout: 1_000 })])
  await Promise.allSettled(enqueued)
  await storage.disconnect()
  await server.close()
  view.close()
  const open = mails - ends.size
  if (open === 0) rmSync(directory, { recursive: true })
  return {
    sent: ends.sent,
    refused: ends.size - ends.sent,
    lost: addresses.filter((to) => ends.isSent(idOf(to)) && !server.received.has(to)),
    open,
  }
}

const idOf = (to: string): string => `newsletter 1 to ${to}`

/** How each mail ended. */
class Ends {
  readonly #all = Promise.withResolvers<void>()
  readonly #ends = new Map<string, 'sent' | 'refused'>()
  readonly #ids: ReadonlySet<string>
  sent = 0

  constructor(ids: readonly string[]) {
    this.#ids = new Set(ids)
  }

  get all(): Promise<void> {
    return this.#all.promise
  }

  get size(): number {
    return this.#ends.size
  }

  has(id: string): boolean {
    return this.#ends.has(id)
  }

  isSent(id: string): boolean {
    return this.#ends.get(id) === 'sent'
  }

  add(id: string, end: 'sent' | 'refused'): void {
    // A longer newsletter of an earlier run may have left others.
    if (!this.#ids.has(id) || this.#ends.has(id)) return
    this.#ends.set(id, end)
    if (end === 'sent') this.sent++
    if (this.#ends.size === this.#ids.size) this.#all.resolve()
  }
}

function stopped(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}
