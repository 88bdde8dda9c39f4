// Actions on many jobs that are under way, or ended lately. They live in the process that began them.

import type { Admin, AdminJobFilter, BulkAction, BulkProgress, BulkResult, Clock } from 'holdfast'
import type { BulkState } from '../shared/api.ts'
import type { JobAction } from '../shared/states.ts'
import { RequestError } from './http/errors.ts'

interface Tracked {
  readonly id: string
  readonly action: JobAction
  readonly running: BulkAction
  result?: BulkResult
  failure?: string
}

const [mostRunning, mostKept, mostErrors] = [5, 50, 10]

export class BulkActions {
  readonly #clock: Clock
  readonly #tracked = new Map<string, Tracked>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** @param onEnd called at its end, however it ends @throws RequestError 429 if too many run */
  start(admin: Admin, action: JobAction, filter: AdminJobFilter, onEnd: (state: BulkState) => void): BulkState {
    const isRunning = ({ result, failure }: Tracked): boolean => result === undefined && failure === undefined
    if ([...this.#tracked.values()].filter(isRunning).length >= mostRunning) {
      throw new RequestError(429, 'TOO_MANY_ACTIONS', `${mostRunning} actions run already. Wait until one has ended.`)
    }
    const running = admin.bulk[action](filter)
    const tracked: Tracked = { id: this.#clock.newId(), action, running }
    this.#tracked.set(tracked.id, tracked)
    for (const [id, entry] of this.#tracked) {
      if (this.#tracked.size > mostKept && !isRunning(entry)) this.#tracked.delete(id)
    }
    void running.result
      .then(
        (result) => (tracked.result = result),
        (error: Error) => (tracked.failure = error.message),
      )
      .then(() => onEnd(stateOf(tracked)))
    return stateOf(tracked)
  }

  /** @throws RequestError 404 */
  get(id: string): BulkState {
    return stateOf(this.#find(id))
  }

  /** @throws RequestError 404 */
  async stop(id: string): Promise<BulkState> {
    const tracked = this.#find(id)
    await tracked.running.stop().catch(() => {})
    return stateOf(tracked)
  }

  /** Stops all. */
  async close(): Promise<void> {
    await Promise.all([...this.#tracked.values()].map(({ running }) => running.stop().catch(() => {})))
  }

  #find(id: string): Tracked {
    const tracked = this.#tracked.get(id)
    if (tracked) return tracked
    throw new RequestError(
      404,
      'NOT_FOUND',
      'This process knows no such action. It may run in another process, or ended long ago.',
    )
  }
}

function stateOf({ id, action, running, result, failure }: Tracked): BulkState {
  const { errors = [], stopped, ...progress }: Partial<BulkResult> & BulkProgress = result ?? running.progress
  const sentences = errors.slice(0, mostErrors).map(({ job, error }) => `${job.id}: ${error.message}`)
  return {
    ...progress,
    id,
    action,
    isRunning: result === undefined && failure === undefined,
    ...(stopped !== undefined && { stopped }),
    errors: failure === undefined ? sentences : [failure],
  }
}
