// A storage with some of everything, and live workers on it: for the browser tests and the screenshots.

import { openOrders } from './sample-orders.ts'
import { actAsOperators, writePastHour } from './sample-past.ts'
import { fail, MemoryStorage, Queue, type QueueConfig, type Storage } from 'holdfast'

export interface Sample {
  readonly storage: Storage
  readonly mail: Queue<Mail, unknown>
  /** Id of a job of chains that is blocked. */
  readonly orderId: string
  close(): Promise<void>
}

interface Mail {
  readonly to: string
  readonly subject: string
}

export async function openSample(storage: Storage = new MemoryStorage()): Promise<Sample> {
  const queues: { stop(options: { graceMs: number }): Promise<void> }[] = []
  const queue = <P>(name: string, config: Partial<QueueConfig<P, unknown>> = {}): Queue<P, unknown> => {
    const made = new Queue<P, unknown>({ storage, name, ...config })
    queues.push(made)
    return made
  }

  const mail = queue<Mail>('mail', {
    workerId: 'mailer-1',
    concurrency: 8,
    maxAttempts: 3,
    backoff: { type: 'fixed', delayMs: 20 },
    searchFields: { customerId: 'string' },
    limits: { concurrency: 8, rate: { limit: 500, perMs: 60_000 } },
    schedules: {
      digest: {
        cron: '30 6 * * 1-5',
        timeZone: 'Europe/Berlin',
        payload: { to: 'team@example.com', subject: 'Digest' },
      },
      'keep-alive': { everyMs: 900_000, payload: { to: 'ops@example.com', subject: 'Still here' } },
    },
  })
  mail.execute(async (job) => {
    job.log(`connecting for ${job.payload.to}`, { attempt: job.attempts })
    if (job.payload.to.endsWith('@down.example')) throw refused()
    if (job.payload.to.endsWith('@gone.example')) return fail('550 5.1.1 mailbox unavailable')
    job.log('accepted by the server')
    return { messageId: `<${job.id}@example.com>` }
  })

  const thumbnails = queue<{ image: string }>('thumbnails', { workerId: 'images-1', concurrency: 4 })
  thumbnails.execute(async (job) => {
    job.progress({ percent: 40 })
    job.log('decoded', { width: 4_032, height: 3_024 })
    await new Promise<void>((resolve) => job.signal.addEventListener('abort', () => resolve(), { once: true }))
  })

  const retries = queue<Mail>('invoices', {
    workerId: 'billing-1',
    concurrency: 2,
    maxAttempts: 5,
    backoff: { type: 'fixed', delayMs: 600_000 },
  })
  retries.execute(() => {
    throw refused()
  })

  // No worker serves these.
  const webhooks = queue<{ url: string }>('webhooks')
  const reports = queue<{ month: string }>('reports')

  await Promise.all([mail, thumbnails, retries].map((one) => one.start()))
  for (let n = 1; n <= 24; n++) {
    const to = n % 6 === 0 ? 'ada@down.example' : n % 7 === 0 ? 'bob@gone.example' : `customer-${n}@example.com`
    await mail.enqueue(`mail-${n}`, { to, subject: `Order ${1_000 + n}` }, { search: { customerId: `c-${n}` } })
  }
  for (const image of ['harbour.jpg', 'anchor.jpg']) await thumbnails.enqueue(image, { image })
  for (let n = 1; n <= 3; n++)
    await retries.enqueue(
      `invoice-${n}`,
      { to: 'books@example.com', subject: `Invoice ${n}` },
      { group: n === 1 ? 'acme' : 'globex' },
    )
  for (let n = 1; n <= 5; n++) await webhooks.enqueue(`hook-${n}`, { url: `https://example.com/${n}` })
  await reports.enqueue('2026-10', { month: '2026-10' }, { delayMs: 7_200_000 })
  await reports.pause({ by: 'ada' })
  const isAtRest = async (): Promise<boolean> => {
    const [{ states }, { states: waiting }, { states: running }] = await Promise.all([
      mail.counts(),
      retries.counts(),
      thumbnails.counts(),
    ])
    return states.queued + states.processing + states.failing === 0 && waiting.failing === 3 && running.processing === 2
  }
  await until(isAtRest)
  await actAsOperators(storage)
  await until(isAtRest)
  const orders = await openOrders(storage)
  await writePastHour(storage)
  return {
    storage,
    mail,
    orderId: orders.id,
    async close() {
      await Promise.all([orders.close(), ...queues.map((one) => one.stop({ graceMs: 0 }))])
    },
  }
}

/** As an application on a server would throw it, so that pictures show no path of this machine. */
function refused(): Error {
  const stack = [
    'Error: connect ECONNREFUSED 10.0.0.7:25',
    '    at connect (/app/src/mail/smtp.ts:42:11)',
    '    at sendMail (/app/src/mail/send-mail.ts:18:20)',
    '    at TCPConnectWrap.afterConnect [as oncomplete] (node:net:1637:16)',
    '    at callHandler (/app/node_modules/holdfast/dist/queue/handler.js:77:34)',
    '    at runAttempt (/app/node_modules/holdfast/dist/queue/execute.js:91:25)',
  ].join('\n')
  return Object.assign(new Error('connect ECONNREFUSED 10.0.0.7:25'), { code: 'ECONNREFUSED', stack })
}

/** Waits for a condition, for as long as the runner lets a test run. */
async function until(isTrue: () => Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await new Promise((resolve) => setTimeout(resolve, 20))
}
