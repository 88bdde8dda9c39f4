// Reads what turns and limits need: the rings of types, the waiting jobs of groups, and the rows of types.
//
// Locks. A claim of a type with limits or groups locks the row of the type first: so such claims come one after the other, and
// each counts the jobs in processing by a statement that begins after the one before has committed. Groups and jobs that another
// call has locked are passed over, so no claim waits for them. All other calls lock types last, behind jobs, keys and groups.

import type { Row } from '../connection/database.ts'
import { cell } from '../sql/job-columns.ts'
import { arrayOf, decodeText } from '../sql/text.ts'
import { storedFlow } from './flow.ts'
import { groupStateOf, pausedOf } from './group.ts'
import type { TypeLimit } from './load-lists.ts'
import type { ListName } from './load-request.ts'
import type { Loader } from './loader.ts'
import { nameOf, namesOf } from './row-name.ts'

/**
 * Reads the pauses, turns and limits of the types of a claim, and locks the types that need it.
 * @param limited types with limits @param capped types with a concurrency
 */
export async function openTypes(
  loader: Loader,
  tids: readonly number[],
  limited: ReadonlySet<number>,
  capped: ReadonlySet<number>,
): Promise<void> {
  const { connection, loaded, statements } = loader
  const locked = new Set(limited)
  const others = tids.filter((tid) => !limited.has(tid))
  if (others.length > 0) {
    for (const row of await connection.query(statements.openTypes, [arrayOf(others), loader.now])) {
      const tid = Number(row[0])
      loaded.pauses.set(tid, pausedOf(row[1]!, row[2]!))
      if (row[5] === 'true') loader.types.noteGrouped(tid)
      // A group that gets its turn later is not missed: it is as if this call had come earlier.
      if (row[3] !== null || row[6] === 'true') locked.add(tid)
      else loaded.flows.set(tid, storedFlow(row, false))
    }
  }
  if (locked.size === 0) return
  await lockFlows(loader, locked)
  // The time is read again: others may have started jobs while this call waited for the lock.
  for (const [now, tid, running] of await connection.query(statements.running, [arrayOf([...capped])])) {
    loader.now = Math.max(loader.now, Number(now))
    if (tid !== null) loaded.running.set(Number(tid), Number(running))
  }
}

async function lockFlows({ connection, loaded, statements }: Loader, tids: Iterable<number>): Promise<void> {
  for (const row of await connection.query(statements.lockFlows, [arrayOf([...tids])])) {
    loaded.pauses.set(Number(row[0]), pausedOf(row[1]!, row[2]!))
    loaded.flows.set(Number(row[0]), storedFlow(row, true))
  }
}

/** @param locks false in a user's transaction, which may stay open for long */
export async function loadFlows(loader: Loader, locks: boolean): Promise<void> {
  const { connection, loaded, statements } = loader
  const { flows, flowLocks } = loaded.wanted
  const isLocked = (tid: number): boolean => loaded.flows.get(tid)?.isLocked === true
  const locked = [...flowLocks, ...(locks ? flows : [])].filter((tid) => !isLocked(tid))
  if (locked.length > 0) await lockFlows(loader, new Set(locked))
  const read = [...flows].filter((tid) => !loaded.flows.has(tid))
  if (read.length === 0) return
  for (const row of await connection.query(statements.readFlows, [arrayOf(read)])) {
    loaded.flows.set(Number(row[0]), storedFlow(row, false))
  }
}

/** Counts the waiting jobs of types, by a statement that begins when no other call can add to them within a largest depth. */
export async function loadDepths({ connection, loaded, statements }: Loader): Promise<void> {
  const tids = [...loaded.wanted.depths].filter((tid) => !loaded.depths.has(tid))
  if (tids.length === 0) return
  await connection.query(statements.lockDepths, [arrayOf(tids)])
  for (const [tid, count] of await connection.query(statements.depths, [arrayOf(tids)])) {
    loaded.depths.set(Number(tid), Number(count))
  }
}

interface RingLimit extends TypeLimit {
  /** Without turns: the groups with the best jobs. */
  readonly byBest?: boolean
}

/** The first groups of each ring whose turn has come, with the jobs that they would start. */
export async function loadRing(loader: Loader, wanted: readonly RingLimit[]): Promise<void> {
  const { connection, loaded, statements } = loader
  const rows: Row[] = []
  for (const byBest of [false, true]) {
    const some = wanted.filter((type) => (type.byBest ?? false) === byBest)
    if (some.length === 0) continue
    const limits = [arrayOf(some.map(({ tid }) => tid)), arrayOf(some.map(({ limit }) => limit))]
    rows.push(...(await connection.query(byBest ? statements.ringByBest : statements.ring, [...limits, loader.now])))
  }
  loader.keepGroups(rows)
  const named = rows.map(([tid, key, ...row]) => ({ tid: Number(tid), key: key!, state: groupStateOf(row) }))
  const ordered = named.filter(({ state }) => state.ordered)
  if (ordered.length > 0) await loadHeads(loader, ordered)
  const isNew = ({ tid, key }: { tid: number; key: string }): boolean => !loaded.best.has(nameOf(tid, key))
  const unordered = named.filter((group) => !group.state.ordered && isNew(group))
  if (unordered.length > 0) {
    // One more than a group would start in its turns: by that job the call knows when the group is due again.
    const limit = Math.ceil(Math.max(...wanted.map((type) => type.limit)) / rows.length) + 1
    await loadBest(
      loader,
      unordered.map(({ tid, key }) => ({ tid, key, limit })),
    )
  }
  for (const { tid, limit, byBest } of wanted) {
    const own = named.filter((group) => group.tid === tid)
    // Without turns, those that were not read are claimed by a later call.
    const last = own.length < limit || byBest ? undefined : own.at(-1)!.state
    // A group whose head another call has locked is passed over, as if it were locked itself.
    const free = own.filter(({ key, state }) => !state.ordered || loaded.members.has(nameOf(tid, key)))
    loaded.ring.set(tid, { keys: free.map(({ key }) => decodeText(key)), limit, last })
  }
}

async function loadHeads(
  loader: Loader,
  groups: readonly { readonly tid: number; readonly key: string }[],
): Promise<void> {
  const { connection, loaded, statements } = loader
  const rows = await connection.query(statements.heads, namesOf(groups))
  await loader.keepLocked(rows)
  for (const row of rows) {
    loader.wantBlockers(row, loaded.wanted.jobs)
    const name = nameOf(Number(row[cell.tid]), row[cell.grp]!)
    if (!loaded.members.has(name)) loaded.members.set(name, { seqs: [Number(row[cell.seq])], isComplete: false })
  }
}

/** The best due jobs of unordered groups, and which of their members are due after these. */
export async function loadBest(loader: Loader, groups: readonly ListName[]): Promise<void> {
  const { connection, loaded, statements } = loader
  const rows = await connection.query(statements.best, [...namesOf(groups), limitsOf(groups), loader.now])
  await loader.keepLocked(rows)
  const found = new Map<string, number[]>()
  for (const row of rows) {
    loader.wantBlockers(row, loaded.wanted.jobs)
    const name = nameOf(Number(row[cell.tid]), row[cell.grp]!)
    const seqs = found.get(name)
    if (seqs) seqs.push(Number(row[cell.seq]))
    else found.set(name, [Number(row[cell.seq])])
  }
  const exhausted: ListName[] = []
  for (const { tid, key, limit } of groups) {
    const name = nameOf(tid, key)
    const seqs = found.get(name) ?? []
    loaded.best.set(name, { seqs, isComplete: seqs.length < limit })
    if (seqs.length === limit || loaded.waiting.has(name)) continue
    const { size, running } = groupStateOf(loaded.groups.get(name)!)
    if (size - running > seqs.length) exhausted.push({ tid, key, limit: seqs.length + 1 })
    else loaded.waiting.set(name, { jobs: [], isComplete: true })
  }
  if (exhausted.length > 0) await loadWaiting(loader, exhausted)
}

/** The waiting members of unordered groups that are due first. */
export async function loadWaiting(
  { connection, loaded, statements }: Loader,
  groups: readonly ListName[],
): Promise<void> {
  const rows = await connection.query(statements.waiting, [...namesOf(groups), limitsOf(groups)])
  for (const { tid, key, limit } of groups) {
    const own = rows.filter((row) => Number(row[0]) === tid && row[1] === key)
    const jobs = own.map(([, , seq, runAt]) => ({ seq: Number(seq), runAt: Number(runAt) }))
    loaded.waiting.set(nameOf(tid, key), { jobs, isComplete: jobs.length < limit })
  }
}

const limitsOf = (groups: readonly ListName[]): string => arrayOf(groups.map(({ limit }) => limit))
