// Whether hints come back from the server: a message on a channel of its own. Hints of a call also reach the listeners of its own process
// directly, so a probe through the verbs would not notice that LISTEN does not work.

import { systemClock } from '../../../clock.ts'
import type { Finding } from '../../storage.ts'
import type { Database } from '../connection/database.ts'
import { columns, param } from '../sql/statement.ts'

const channel = 'holdfast_doctor'
const longestMs = 2_000
const notify = { name: '', text: `SELECT ${columns(`pg_notify(${param(1, 'text')}, 'probe')`)}` }

export async function hintFindings(database: Pick<Database, 'listen' | 'query'>): Promise<Finding[]> {
  const heard = Promise.withResolvers<boolean>()
  const unlisten = await database.listen(
    channel,
    () => heard.resolve(true),
    () => {},
  )
  const timer = systemClock.after(longestMs, () => heard.resolve(false))
  try {
    await database.query(notify, [channel])
    if (await heard.promise) return []
  } finally {
    timer.cancel()
    await unlisten()
  }
  return [
    {
      code: 'hints_lost',
      severity: 'warning',
      sentence: `a hint was sent, and did not arrive within ${longestMs} ms: jobs start when workers poll, and not at once`,
      fix: 'A pooler in transaction mode drops LISTEN: give the storage a `listenUrl` that leads to the server itself, and leave `listen` at true.',
    },
  ]
}
