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
import { keepLost, readLost, type TypeLimit } from './load-lists.ts'
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
  keepRunning(loader, await connection.query(statements.running, [arrayOf([...capped])]))
}

/** With the time, which is read again: others may have started jobs while this call waited for the lock. */
function keepRunning(loader: Loader, rows: readonly Row[]): void {
  for (const [now, tid, running] of rows) {
    loader.now = Math.max(loader.now, Number(now))
    if (tid !== null) loader.loaded.running.set(Number(tid), Number(running))
  }
}

async function lockFlows(loader: Loader, tids: Iterable<number>): Promise<void> {
  keepFlows(loader, await loader.connection.query(loader.statements.lockFlows, [arrayOf([...tids])]))
}

function keepFlows({ loaded, types }: Loader, rows: readonly Row[]): void {
  for (const row of rows) {
    const tid = Number(row[0])
    loaded.pauses.set(tid, pausedOf(row[1]!, row[2]!))
    loaded.flows.set(tid, storedFlow(row, true))
    if (row[5] === 'true') types.noteGrouped(tid)
  }
}

/** Answers with the locked types, their expired leases, and the jobs in processing of those with a concurrency. */
export type OpeningRows = Promise<readonly [types: Row[], lost: Row[], running: Row[]]>

/** Sends, in one round trip, what a claim of types with limits or groups begins with. @param lost how many leases are read per type */
export function openLimited(loader: Loader, lost: readonly TypeLimit[], capped: ReadonlySet<number>): OpeningRows {
  const { connection, loaded, statements } = loader
  const unlocked = lost.flatMap(({ tid }) => (loaded.flows.get(tid)?.isLocked ? [] : tid))
  return Promise.all([
    unlocked.length > 0 ? connection.query(statements.lockFlows, [arrayOf(unlocked)]) : [],
    readLost(loader, lost),
    // The last one: the time of the call is not before that of the others.
    connection.query(statements.running, [arrayOf([...capped])]),
  ])
}

export async function keepLimited(loader: Loader, lost: readonly TypeLimit[], opening: OpeningRows): Promise<void> {
  const [types, leases, running] = await opening
  keepFlows(loader, types)
  await keepLost(loader, lost, leases)
  keepRunning(loader, running)
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

interface RingLimit extends TypeLimit {
  /** Without turns: the groups with the best jobs. */
  readonly byBest?: boolean
}

/** The first groups of each ring whose turn has come, with the jobs that they would start. */
export async function loadRing(loader: Loader, wanted: readonly RingLimit[]): Promise<void> {
  const { loaded } = loader
  const [firsts, ...rings] = await Promise.all([
    readFirstTurns(loader, wanted),
    ...[false, true].map((byBest) =>
      readRing(
        loader,
        wanted.filter((type) => (type.byBest ?? false) === byBest),
        byBest,
      ),
    ),
  ])
  for (const [tid, first] of firsts) loader.rings.onScanned(tid, loader.now, first)
  const rows = rings.flat()
  loader.keepGroups(rows)
  const named = rows.map(([tid, key, ...row]) => ({ tid: Number(tid), key: key!, state: groupStateOf(row) }))
  const ordered = named.filter(({ state }) => state.ordered)
  const isNew = ({ tid, key }: { tid: number; key: string }): boolean => !loaded.best.has(nameOf(tid, key))
  const unordered = named.filter((group) => !group.state.ordered && isNew(group))
  // One more than a group would start in its turns: by that job the call knows when the group is due again.
  const perGroup = Math.ceil(Math.max(...wanted.map((type) => type.limit)) / rows.length) + 1
  await Promise.all([
    ordered.length > 0 && loadHeads(loader, ordered),
    unordered.length > 0 &&
      loadBest(
        loader,
        unordered.map(({ tid, key }) => ({ tid, key, limit: perGroup })),
      ),
    rows.length > 0 && takeAhead(loader, rows.length),
  ])
  for (const { tid, limit, byBest } of wanted) {
    const own = named.filter((group) => group.tid === tid)
    // Without turns, those that were not read are claimed by a later call.
    const last = own.length < limit || byBest ? undefined : own.at(-1)!.state
    // A group whose head another call has locked is passed over, as if it were locked itself.
    const free = own.filter(({ key, state }) => !state.ordered || loaded.members.has(nameOf(tid, key)))
    loaded.ring.set(tid, { keys: free.map(({ key }) => decodeText(key)), limit, last })
  }
}

/** Each group that starts a job takes a number. Sent behind the last locks. */
async function takeAhead({ connection, loaded, statements }: Loader, count: number): Promise<void> {
  loaded.numbers = (await connection.query(statements.numbers, [count])).map(([number]) => Number(number))
}

async function readRing(
  { connection, loaded, statements, rings, now }: Loader,
  wanted: readonly RingLimit[],
  byBest: boolean,
): Promise<Row[]> {
  if (wanted.length === 0) return []
  const starts = wanted.map(({ tid }) => rings.startOf(tid, now))
  if (starts.some((start) => start > -Infinity)) loaded.isRingPartial = true
  const limits = [arrayOf(wanted.map(({ tid }) => tid)), arrayOf(wanted.map(({ limit }) => limit))]
  return connection.query(byBest ? statements.ringByBest : statements.ring, [...limits, now, arrayOf(starts)])
}

/** Of the rings that are read from their heads. Infinity: the ring is empty. */
async function readFirstTurns(
  { connection, statements, rings, now }: Loader,
  wanted: readonly RingLimit[],
): Promise<Map<number, number>> {
  const tids = wanted.flatMap(({ tid }) => (rings.startOf(tid, now) === -Infinity ? tid : []))
  const firsts = new Map(tids.map((tid) => [tid, Infinity]))
  if (tids.length === 0) return firsts
  for (const [tid, at] of await connection.query(statements.firstTurns, [arrayOf(tids)])) {
    firsts.set(Number(tid), Number(at))
  }
  return firsts
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
