// Applies changes to the data of a replica: those of another process's commit, or those that undo a call.
// Invariant: the place of a job, the members of its group and the dependents of a chain follow from the records alone; the rest
// of a group and the flow of a type are in the commits. So every replica that applied the same commits gives the same answers.

import { outlivesJob } from '../../rules/job/key.ts'
import { isTerminal, isWaiting } from '../../rules/job/states.ts'
import { MemoryJob, type Mark, type TypeData } from '../../memory/data.ts'
import { MemoryMove, type SignalSink } from '../../memory/move.ts'
import type { Recorder } from '../../memory/recorder.ts'
import { expireLater } from '../../rules/job/finish.ts'
import type * as Moves from '../../rules/move.ts'
import type { JobGroup, NewJob } from '../../storage.ts'
import { GroupApplication } from './apply-groups.ts'
import type { Changes, FlowPut, JobPut, KeyPut, PausePut } from './changes.ts'
import { type ChangingPart, type FixedPart, plainFields } from './record.ts'
import type { Replica } from './replica.ts'

const silent: SignalSink = { wake() {}, unwake() {}, done() {}, abort() {}, event() {}, send() {} }
/** Records nothing. With a recorder, no type is deleted before the end. */
const unrecorded: Recorder = { seen() {}, changed() {}, creates() {}, key() {}, group() {}, flow() {} }

export function applyChanges(replica: Replica, changes: Changes, now: number): void {
  if (changes.cleared) replica.clear()
  new Application(replica, changes, now).run()
}

class Application {
  readonly #replica: Replica
  readonly #changes: Changes
  readonly #move: MemoryMove
  readonly #types = new Set<TypeData>()
  readonly #groups: GroupApplication
  readonly #chains = new Set<MemoryJob>()
  /** The dependents of erased chains. A new chain of the same name gets them. */
  readonly #orphans = new Map<TypeData, Map<string, Set<Moves.Job>>>()

  constructor(replica: Replica, changes: Changes, now: number) {
    this.#replica = replica
    this.#changes = changes
    this.#move = new MemoryMove(replica.data, now, silent, unrecorded)
    this.#groups = new GroupApplication(replica, this.#move)
  }

  run(): void {
    const { data, kv } = this.#replica
    const { erased, jobs: puts, keys, groups, flows, pauses, entries, lastNumber, hasNoGroups } = this.#changes
    const gone = erased.flatMap((ref) => this.#move.stored(ref) ?? [])
    for (const job of gone) this.#detach(job)
    for (const job of gone) this.#erase(job)
    const jobs = puts.map((put) => this.#begin(put))
    for (const key of keys) this.#putKey(key)
    // All jobs leave their places before any of them changes: the order in a place depends on fields that change.
    jobs.forEach((job, index) => this.#assign(job, puts[index]!.changing))
    jobs.forEach((job, index) => this.#link(job, puts[index]!))
    for (const pause of pauses) this.#pause(pause)
    for (const job of jobs) this.#place(job)
    for (const chain of this.#chains) if (isEnded(chain)) expireLater(this.#move, chain)
    for (const job of jobs) if (isEndedPart(job)) this.#move.putIn(job, 'ended')
    this.#groups.put(groups)
    for (const { type } of groups) this.#types.add(data.ensureType(type))
    if (hasNoGroups) this.#groups.derive()
    this.#groups.end()
    for (const flow of flows) this.#putFlow(flow)
    for (const { key, entry } of entries) {
      if (entry) kv.put({ ...entry, heapIndex: -1 })
      else kv.drop(key)
    }
    data.lastNumber = lastNumber
    for (const type of this.#types) this.#replica.prune(type)
  }

  /** Removes a job from its place, group and blockers, while all of these exist. */
  #detach(job: MemoryJob): void {
    this.#move.putIn(job, 'nowhere')
    this.#groups.erase(job)
    for (const { ref } of job.blockers ?? []) this.#release(job, this.#move.stored(ref))
  }

  #release(job: MemoryJob, chain: MemoryJob | undefined): void {
    if (chain?.dependents?.delete(job)) this.#chains.add(chain)
  }

  #erase(job: MemoryJob): void {
    const { type, id, chain, chainIndex, dependents } = job
    this.#types.add(type)
    this.#chains.delete(job)
    if (chainIndex > 0 && chain.jobs) chain.jobs = chain.jobs.filter((other) => other !== job)
    this.#move.erase(job)
    if (!dependents?.size) return
    let orphans = this.#orphans.get(type)
    if (!orphans) this.#orphans.set(type, (orphans = new Map()))
    orphans.set(id, dependents)
  }

  /** The job, created or existing, in place `nowhere`. */
  #begin({ type: name, id, fixed, changing }: JobPut): MemoryJob {
    const type = this.#replica.data.ensureType(name)
    this.#types.add(type)
    const existing = type.jobs.get(id)
    if (existing) {
      this.#groups.begin(existing)
      this.#move.putIn(existing, 'nowhere')
      return existing
    }
    if (!fixed)
      throw new Error(
        `File storage: a commit changes job '${id}' of type '${name}', which does not exist. The log is damaged.`,
      )
    const job = newJob(type, fixed, changing)
    type.counts[job.state]++
    type.jobs.set(job)
    const orphans = this.#orphans.get(type)?.get(id)
    if (orphans) job.dependents = orphans
    return job
  }

  #assign(job: MemoryJob, changing: ChangingPart): void {
    const { counts } = job.type
    counts[job.state]--
    counts[changing.state]++
    job.state = changing.state
    const fields = job as unknown as Record<string, unknown>
    for (const name of plainFields) if (fields[name] !== changing[name]) fields[name] = changing[name]
    if (changing.blockers) job.blockers = changing.blockers.map(({ ref, done }) => ({ ref, done }))
    if (job.deadlineAt === changing.deadlineAt) return
    if (changing.deadlineAt === undefined) job.deadlineAt = undefined
    else this.#replica.data.setDeadline(job, changing.deadlineAt)
  }

  #link(job: MemoryJob, { fixed, changing }: JobPut): void {
    if (fixed?.chain && job.chain === job) this.#join(job, this.#move.stored(fixed.chain)!)
    this.#chains.add(job.chain)
    const key = fixed?.group ?? job.group?.key
    if (key !== undefined) this.#groups.link(job, key)
    for (const { ref, held } of changing.blockers ?? []) {
      const chain = this.#move.stored(ref)
      if (held && chain) this.#move.dependentsOf(chain).add(job)
      else this.#release(job, chain)
    }
    if (changing.mark) this.#mark(job, changing.mark)
  }

  #join(job: MemoryJob, chain: MemoryJob): void {
    Object.assign(job, { first: chain })
    const others = (chain.jobs ?? [chain]).filter((other) => other !== job)
    chain.jobs = [...others, job].toSorted((a, b) => a.chainIndex - b.chainIndex)
  }

  #mark(job: MemoryJob, { held, own, ...fields }: NonNullable<ChangingPart['mark']>): void {
    const inForce = held ? job.type.keys.get(fields.key) : undefined
    job.mark = inForce ?? { ...fields, type: job.type, job: undefined, heapIndex: -1 }
    if (own) job.mark.job = job
  }

  #putKey({ type: name, key, mark: fields }: KeyPut): void {
    const { data } = this.#replica
    const type = data.ensureType(name)
    this.#types.add(type)
    const old = type.keys.get(key)
    if (old) this.#move.dropKey(type, old)
    if (!fields) return
    // An undo puts the same object back: jobs may refer to it.
    const mark: Mark = 'type' in fields ? fields : { ...fields, type, job: undefined, heapIndex: -1 }
    type.keys.set(key, mark)
    if (outlivesJob(mark.mode) && mark.until !== Infinity) data.marks.push(mark)
  }

  #pause({ type: name, group: key, paused }: PausePut): void {
    const type = this.#replica.data.ensureType(name)
    this.#types.add(type)
    if (key === undefined) {
      type.paused = paused
      return
    }
    this.#groups.of(type, key).paused = paused
  }

  #putFlow({ type: name, flow }: FlowPut): void {
    const type = this.#replica.data.ensureType(name)
    this.#types.add(type)
    type.flow = flow
  }

  #place(job: MemoryJob): void {
    if (job.state === 'processing') this.#move.putIn(job, 'leases')
    else if (isWaiting(job.state)) this.#move.putIn(job, job.group ? 'aside' : 'ready')
  }
}

const isEnded = (chain: MemoryJob): boolean => isTerminal(chain.tail.state)

/** A job that has ended inside its chain, and expires by itself. */
const isEndedPart = (job: MemoryJob): boolean =>
  job.chainIndex > 0 && job !== job.chain.tail && isTerminal(job.state) && job.expiresAt !== undefined

function newJob(type: TypeData, fixed: FixedPart, { state, runAt }: ChangingPart): MemoryJob {
  const { id, token, priority, maxAttempts, timeoutMs, search, retention, trace, onBlockerFailure, weight } = fixed
  const fields: NewJob = {
    type: type.name,
    id,
    token,
    priority,
    maxAttempts,
    timeoutMs,
    search,
    retention,
    trace,
    weight,
  }
  const member = fixed.group === undefined ? {} : { group: groupOf(fixed.group, fixed.membership!) }
  const failure = onBlockerFailure === 'fail' ? {} : { onBlockerFailure }
  const job = new MemoryJob(type, { ...fields, ...member, ...failure }, fixed.createdAt, runAt, fixed.number)
  job.state = state
  if (fixed.chainIndex > 0) Object.assign(job, { chainIndex: fixed.chainIndex })
  if (fixed.origin) Object.assign(job, { origin: fixed.origin })
  if (fixed.root) Object.assign(job, { root: fixed.root })
  return job
}

function groupOf(key: string, membership: Moves.Membership): JobGroup {
  if (membership === 'unordered') return { key }
  return { key, ordered: true, onFailure: membership === 'hold' ? 'hold' : 'continue' }
}
