// Everything in a replica as comparable data: the records, and what is derived from them.

import type { MemoryJob } from '../../../src/storage/memory/data.ts'
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
  const types = [...data.types.values()].map(({ name, groups, keys, counts, due, leases, ready, later }) => ({
    name,
    groups: [...groups.values()]
      .map(({ key, running, size, members, paused }) => {
        const inOrder = members.items.map(({ job }) => job.accepted).toSorted((a, b) => a - b)
        return { key, running, size, members: inOrder, paused }
      })
      .toSorted(byText),
    keys: [...keys.values()]
      .map(({ key, job, heapIndex }) => ({ key, job: job?.accepted, timed: heapIndex >= 0 }))
      .toSorted(byText),
    // A due job is queued once a call has promoted it, and scheduled before that: both mean the same.
    counts: { ...counts, queued: counts.queued + counts.scheduled, scheduled: 0 },
    leases: [...leases].length,
    waiting: ready.reduce((sum, { jobs }) => sum + [...jobs].length, later.size),
    due: due >= 0,
  }))
  return plain({
    last: data.lastNumber,
    ended: [...data.ended].map(({ accepted }) => accepted).toSorted((a, b) => a - b),
    marks: data.marks.size,
    types: types.toSorted(byText),
    lines: lines.toSorted(byText),
  })
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
