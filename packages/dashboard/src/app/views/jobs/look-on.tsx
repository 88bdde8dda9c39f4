// A page without a match that is not the last one: the storage looks at a bounded number of jobs for each. The next pages are
// asked for one after the other, until one has a job.

import { useEffect, useState } from 'preact/hooks'
import type { JobsPage } from '../../../shared/api.ts'
import { Empty } from '../../parts/states.tsx'
import { get } from '../../state/api.ts'
import { setQuery, to } from '../../state/location.ts'

/** Pages that are asked for before a person decides whether to go on. */
const mostPages = 100

interface LookOnProps {
  readonly q: string | undefined
  readonly sort: string
  readonly cursor: string
}

export function LookOn({ q, sort, cursor: first }: LookOnProps) {
  const [start, setStart] = useState(first)
  const [stoppedAt, setStoppedAt] = useState<string>()
  useEffect(() => {
    const left = new AbortController()
    const { signal } = left
    const look = async (): Promise<void> => {
      let cursor = start
      for (let pages = 0; pages < mostPages; pages++) {
        const { data } = await get<JobsPage>(to('jobs', { q, cursor, sort }))
        if (signal.aborted) return
        if (data.items.length > 0 || data.nextCursor === undefined) {
          setQuery({ cursor, sort }, { replace: true })
          return
        }
        cursor = data.nextCursor
      }
      setStoppedAt(cursor)
    }
    // What failed is shown by the list itself, which goes on asking.
    look().catch(() => !signal.aborted && setStoppedAt(start))
    return () => left.abort()
  }, [q, sort, start])
  if (stoppedAt === undefined) {
    return (
      <Empty title="Looking for a match…">
        <p>No index serves this filter, so the storage looks at its jobs part by part.</p>
      </Empty>
    )
  }
  return (
    <Empty title="No match so far">
      <p>Many jobs were looked at, and there are more. A type or a state in the filter makes the search shorter.</p>
      <button
        type="button"
        onClick={() => {
          setStart(stoppedAt)
          setStoppedAt(undefined)
        }}
      >
        Look further
      </button>
    </Empty>
  )
}
