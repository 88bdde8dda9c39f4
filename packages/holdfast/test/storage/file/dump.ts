// Everything in a replica as comparable data: the records, and what is derived from them.

import type { Data, MemoryJob } from '../../../src/storage/memory/data.ts'
import { type Group, isLingering } from '../../../src/storage/memory/group.ts'
import type { Heap } from '../../../src/storage/memory/heap.ts'
import { isTurnBefore } from '../../../src/storage/rules/flow.ts'
import { stateOf } from '../../../src/storage/rules/get.ts'
import type { Move } from '../../../src/storage/rules/move.ts'
import { linesOfAll } from '../../../src/storage/file/log/lines.ts'
import type { Replica } from '../../../src/storage/file/replica/replica.ts'

export function dump(replica: Replica, now: number): unknown {
  const { data } = replica
  const move = { now } as Move
  const lines: Record<string, unknown>[] = []
  for (const line of linesOfAll(replica)) {
    if (!('job' in line)) {
      lines.push(line)
      continue
    }
    const { type, id } = line.job
    const job = data.types.get(type)!.jobs.get(id)!
    lines.push({ job: { ...line.job, state: stateOf(move, job) }, ...derived(job) })
  }
  const types = [...data.types.values()].map((type) => ({
    name: type.name,
    groups: [...type.groups.values()].map((group) => groupOf(data, group)).toSorted(byText),
    ring: inOrder(type.ring),
    keys: [...type.keys.values()]
      .map(({ key, job, heapIndex }) => ({ key, job: job?.accepted, timed: heapIndex >= 0 }))
      .toSorted(byText),
    // A due job is queued once a call has promoted it, and scheduled before that: both mean the same.
    counts: { ...type.counts, queued: type.counts.queued + type.counts.scheduled, scheduled: 0 },
    leases: [...type.leases].length,
    waiting: type.ready.reduce((sum, { jobs }) => sum + [...jobs].length, type.later.size),
    aside: type.asideDue.size + type.asideLater.size,
    due: type.due >= 0,
  }))
  return plain({
    last: data.lastNumber,
    ended: [...data.ended].map(({ accepted }) => accepted).toSorted((a, b) => a - b),
    marks: data.marks.size,
    types: types.toSorted(byText),
    lines: lines.toSorted(byText),
  })
}

/** The state of a group is in its line: this is what follows from the records. */
function groupOf(data: Data, group: Group): object {
  const { key, running, size, ordered, members, later, heapIndex } = group
  // Which members were found due depends on the last call.
  const jobs = [...members.items, ...later.items].map(({ job }) => job.accepted).toSorted((a, b) => a - b)
  return {
    key,
    running,
    size,
    kind: size > 0 && ordered,
    jobs,
    hasTurn: heapIndex >= 0,
    isSwept: isLingering(group) && data.lingering.has(group),
    strangers: [...members.items, ...later.items].filter(({ job }) => job.group !== group).length,
  }
}

function inOrder(ring: Heap<Group>): string[] {
  return ring.items.toSorted((a, b) => (isTurnBefore(a, b) ? -1 : 1)).map(({ key }) => key)
}

function derived(job: MemoryJob): object {
  const { type, container } = job
  return {
    place:
      container === undefined
        ? 'nowhere'
        : container === type.leases
          ? 'leases'
          : container === type.asideDue || container === type.asideLater
            ? 'aside'
            : container === type.later || type.ready.some(({ jobs }) => jobs === container)
              ? 'ready'
              : 'ended',
    tail: job.tail.id,
    jobs: (job.jobs ?? [job]).map(({ id }) => id),
    dependents: [...(job.dependents ?? [])].map(({ type: { name }, id }) => `${name} ${id}`).toSorted(),
    inForce: job.mark && type.keys.get(job.mark.key) === job.mark,
  }
}

const byText = (a: unknown, b: unknown): number => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value))
