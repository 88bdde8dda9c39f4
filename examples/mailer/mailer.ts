// Sends a newsletter. One queue writes the texts, and its results are awaited (request/response). Another queue sends the mails, and
// retries while the mail server is busy. Both keep their jobs in a SQLite file: stopped in the middle, the program carries on at
// its next start. It ends when every mail is sent, and reports mails that are missing. The database of the last run that ended is kept, to be
// looked at.

import { mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { Queue } from 'holdfast'
import { SqliteStorage } from 'holdfast/sqlite'
import { MailServer, type MailServerOptions } from './mail-server.ts'
import { type Mail, sendMail } from './send-mail.ts'
import { watch } from './view.ts'

export interface MailerOptions {
  readonly mails: number
  /** Directory of its database. */
  readonly directory: string
  readonly out: NodeJS.WriteStream
  /** Stops the mailer: unfinished jobs stay in the database for the next start. */
  readonly signal: AbortSignal
  readonly loses?: MailServerOptions['loses']
}

export interface MailerReport {
  /** Mails sent, in this run and earlier ones. */
  readonly sent: number
  /** Mails that the server refused for good. */
  readonly refused: number
  /** Addresses whose mail was recorded as sent, and which the server does not have. */
  readonly lost: readonly string[]
  /** Mails that are not sent yet, because the mailer was stopped. */
  readonly open: number
  /** Path of the database, if every mail has ended. */
  readonly kept?: string
}

/** How soon the jobs of a killed process are taken over. */
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
    maxAttempts: 8,
    backoff: { type: 'exponential', delayMs: 400, maxDelayMs: 1_600 },
    leaseMs,
  })
  mailer.execute(({ payload, signal: aborted }) => sendMail(port, payload, aborted))

  const addresses = Array.from({ length: mails }, (_, index) => `reader-${index + 1}@holdfast.example`)
  const ends = new Ends(addresses.map(idOf))
  mailer.on('completed', (id) => ends.add(id, 'sent'))
  mailer.on('failed', (id) => ends.add(id, 'refused'))
  const view = watch(mailer, mails, out)

  // Mails that earlier runs have ended are not sent again.
  await storage.connect()
  for (const id of addresses.map(idOf)) {
    const state = (await mailer.getStatus(id))?.state
    if (state === 'completed') ends.add(id, 'sent')
    if (state === 'failed') ends.add(id, 'refused')
  }
  if (ends.size > 0) view.carryOn(ends.sent, ends.size - ends.sent)

  if (!signal.aborted) await Promise.all([writer.start(), mailer.start()])
  const enqueued = addresses.map(async (to) => {
    if (ends.has(idOf(to)) || signal.aborted) return
    const text = await writer.enqueueAndWait(`text for ${to}`, { name: to.split('@')[0]! }, { signal })
    // The id deduplicates: a second call for this mail joins the first.
    await mailer.enqueue(idOf(to), { to, subject: 'News', text })
  })
  try {
    await Promise.race([Promise.all([...enqueued, ends.all]), stopped(signal)])
  } catch (error) {
    // The signal ends the waits for texts, too.
    if (!signal.aborted) throw error
  }
  await Promise.all([writer.stop({ graceMs: 1_000 }), mailer.stop({ graceMs: 1_000 })])
  await Promise.allSettled(enqueued)
  await storage.disconnect()
  await server.close()
  view.close()
  const open = mails - ends.size
  const kept = join(directory, 'last.db')
  if (open === 0) {
    // The others first: a log of an older last.db must not meet the new one.
    for (const name of readdirSync(directory))
      if (name !== 'newsletter.db') rmSync(join(directory, name), { recursive: true })
    renameSync(join(directory, 'newsletter.db'), kept)
  }
  return {
    sent: ends.sent,
    refused: ends.size - ends.sent,
    lost: addresses.filter((to) => ends.isSent(idOf(to)) && !server.received.has(to)),
    open,
    ...(open === 0 && { kept }),
  }
}

const idOf = (to: string): string => `newsletter 1 to ${to}`

/** The ends of the mails. */
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
    // An earlier run with more readers may have left other ids.
    if (!this.#ids.has(id) || this.#ends.has(id)) return
    this.#ends.set(id, end)
    if (end === 'sent') this.sent++
    if (this.#ends.size === this.#ids.size) this.#all.resolve()
  }
}

function stopped(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}
