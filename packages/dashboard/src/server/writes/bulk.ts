// Actions on all jobs that match a filter: how many they would change, their start, progress and stop.

import type { Answer, BulkPreview, BulkState } from '../../shared/api.ts'
import { largestPage } from '../../shared/api.ts'
import type { Filter } from '../../shared/filter.ts'
import type { Permission } from '../../shared/permissions.ts'
import { type JobAction, type JobState, statesOfAction } from '../../shared/states.ts'
import { forbidden, invalid } from '../http/errors.ts'
import { answerOf, type Call, type Context } from '../route.ts'
import { type Counts, readCounts } from '../views/counts.ts'
import { adminFilter, filterOf, namedTypes } from '../views/job-filter.ts'
import { text } from './body.ts'

const permissionOf: Readonly<Record<JobAction, Permission>> = { retry: 'revive', cancel: 'cancel', remove: 'remove' }
const previewMs = 2_000

export async function bulkPreview(context: Context, { query }: Call): Promise<Answer<BulkPreview>> {
  const action = actionOf(query.get('action'))
  const q = query.get('q') ?? ''
  const filter = bulkFilter(q)
  const states = changeable(filter, action)
  const counts = await readCounts(context)
  if (states.length === 0) return answerOf(counts, () => ({ count: 0, isExact: true }))
  if (isCounted(filter)) {
    return answerOf(counts, (value) => ({ count: countOf(filter, states, value), isExact: true }))
  }
  const list = { ...adminFilter(filter, counts.value, context.clock, states), limit: largestPage }
  const read = await context.reads.read(JSON.stringify(['preview', action, q]), previewMs, () =>
    context.handles.reader.jobs.list(list),
  )
  return answerOf(read, ({ items, nextCursor }) => ({ count: items.length, isExact: nextCursor === undefined }))
}

export const startBulk =
  (action: JobAction) =>
  async (context: Context, { actor, body }: Call): Promise<BulkState> => {
    const q = text(body, 'q')
    const filter = bulkFilter(q)
    const states = changeable(filter, action)
    if (states.length === 0) throw invalid(`No job of these states can be changed by ${action}.`)
    const { handles, bulk, audit, reads, clock } = context
    const { value: counts } = await readCounts(context)
    const admin = handles.of(actor)
    const state = bulk.start(
      admin,
      action,
      adminFilter(filter, counts, clock, states),
      ({ done, skipped, failed, matched }) => {
        reads.clear()
        const data = { action, filter: q, done, skipped, failed, matched }
        audit.wrote(actor, `ended ${action} of all that match '${q}': ${done} of ${matched} changed`, data)
      },
    )
    audit.wrote(actor, `began ${action} of all that match '${q}'`, { action, filter: q, bulk: state.id })
    return state
  }

export async function bulkProgress({ bulk, clock }: Context, { query }: Call): Promise<Answer<BulkState>> {
  return { at: clock.now(), costMs: 0, data: bulk.get(query.get('id') ?? '') }
}

/** Needs the permission of the action that it stops. */
export async function stopBulk({ bulk, audit }: Context, { actor, can, body }: Call): Promise<BulkState> {
  const id = text(body, 'id')
  const { action } = bulk.get(id)
  if (!can.has(permissionOf[action]))
    throw forbidden('PERMISSION', `This needs the permission ${permissionOf[action]}.`)
  const state = await bulk.stop(id)
  audit.wrote(actor, `stopped ${action} after ${state.done} jobs`, { action, bulk: id, done: state.done })
  return state
}

function actionOf(word: string | null): JobAction {
  if (word === 'retry' || word === 'cancel' || word === 'remove') return word
  throw invalid('action: expected retry, cancel or remove.')
}

function bulkFilter(q: string): Filter {
  const filter = filterOf(q)
  if (filter.ids.length > 0) throw invalid('An action on all that match takes no id. Select the jobs instead.')
  if (filter.error !== undefined) {
    throw invalid('An action on all that match takes no error. Select the jobs, page by page, instead.')
  }
  return filter
}

function changeable({ states }: Filter, action: JobAction): readonly JobState[] {
  const allowed = statesOfAction[action]
  return states.length === 0 ? allowed : allowed.filter((state) => states.includes(state))
}

/** Whether the counts by type and state tell how many jobs match. */
const isCounted = ({ group, where, olderThanMs, newerThanMs, createdFrom, createdTo }: Filter): boolean =>
  [group, olderThanMs, newerThanMs, createdFrom, createdTo].every((bound) => bound === undefined) &&
  Object.keys(where).length === 0

function countOf(filter: Filter, states: readonly JobState[], counts: Counts): number {
  const named = namedTypes(filter, counts)
  const isNamed = ({ face, name }: { face: string; name: string }): boolean =>
    named === undefined || named.some((type) => type.face === face && type.name === name)
  let count = 0
  for (const type of counts.types) if (isNamed(type)) for (const state of states) count += type.states[state]
  return count
}
