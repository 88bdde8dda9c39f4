// Requests to a dashboard without a server: as the app sends them, and as others would.

import { MemoryStorage, Queue, type Storage } from 'holdfast'
import {
  type Authorize,
  createDashboard,
  type Dashboard,
  type DashboardOptions,
  permissions,
} from '@holdfast/dashboard'
import { type Answer, type Failure, type Session, tokenHeader } from '../src/shared/api.ts'

export const origin = 'http://jobs.example'

export interface Reply<T = unknown> {
  readonly status: number
  readonly headers: Headers
  readonly body: T
}

/** Views that are answered before the first count is there. */
const countViews = ['overview', 'summary']

export class Client {
  readonly dashboard: Dashboard
  token = ''

  constructor(dashboard: Dashboard) {
    this.dashboard = dashboard
  }

  async send(path: string, init: RequestInit = {}): Promise<Reply> {
    const response = await this.dashboard(new Request(`${origin}${path}`, init))
    const text = await response.text()
    const isJson = response.headers.get('content-type')?.startsWith('application/json') ?? false
    return { status: response.status, headers: response.headers, body: isJson && text !== '' ? JSON.parse(text) : text }
  }

  /** The data of a view; of one that shows counts, once they are there. @throws what the server answers instead */
  async view<T>(path: string): Promise<T> {
    const { status, body } = await this.send(`/api/${path}`)
    if (status !== 200) throw new Error(`${path}: ${status} ${JSON.stringify(body)}`)
    const answer = body as Answer<T>
    if (countViews.includes(path) && answer.countMs === undefined) return this.view(path)
    return answer.data
  }

  /** A write, with what the app sends. */
  async post<T = Failure>(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Reply<T>> {
    this.token ||= (await this.view<Session>('session')).token
    const given = { origin, 'content-type': 'application/json', [tokenHeader]: this.token, ...headers }
    return (await this.send(`/api/${path}`, { method: 'POST', headers: given, body: JSON.stringify(body) })) as Reply<T>
  }
}

const everything: Authorize = () => ({ actor: 'ada', can: permissions })

interface Line {
  readonly level: string
  readonly data: Readonly<Record<string, unknown>>
  readonly message: string
}

export function open(options: Partial<DashboardOptions> = {}) {
  const lines: Line[] = []
  const write = (level: string) => (data: object, message: string) =>
    void lines.push({ level, data: data as Line['data'], message })
  const logger = { info: write('info'), warn: write('warn'), error: write('error') }
  const storage: Storage = options.storage ?? new MemoryStorage()
  const { admin } = options
  const source = admin ? { admin } : { storage }
  const client = new Client(createDashboard({ authorize: everything, logger, ...options, ...source }))
  return {
    client,
    storage,
    lines,
    queue: (name: string) => new Queue<unknown, unknown>({ storage, name, maxAttempts: 1 }),
  }
}
