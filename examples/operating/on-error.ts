// One place decides what comes after an error: another run after a time of its own, a snooze, the end, or the normal course.

import { fail, JobFailedError, MemoryStorage, Queue, retry, snooze } from 'holdfast'

class HttpError extends Error {
  readonly status: number
  constructor(status: number) {
    super(`status ${status}`)
    this.status = status
  }
}

const answers: Record<string, number[]> = { busy: [429, 429, 200], broken: [503, 200], missing: [404] }
const queue = new Queue<string, string>({
  storage: new MemoryStorage(),
  name: 'fetch',
  onError: (error, job) => {
    if (!(error instanceof HttpError)) return undefined // the backoff decides
    console.log(`${job.id}: ${error.message} in attempt ${job.attempts}`)
    if (error.status === 404) return fail() // another run would not help
    if (error.status === 429) return snooze({ delayMs: 5 }) // the server said when: no attempt is spent
    return retry({ delayMs: 5 })
  },
})
queue.execute(({ id }) => {
  const status = answers[id]!.shift()!
  if (status !== 200) throw new HttpError(status)
  return 'a page'
})
await queue.start()
for (const id of Object.keys(answers)) {
  const end = await queue.enqueueAndWait(id, `https://example.com/${id}`).catch((error: unknown) => error)
  console.log(end instanceof JobFailedError ? `${id} failed after ${end.attempts} attempt` : `${id}: ${String(end)}`)
}
await queue.stop()
