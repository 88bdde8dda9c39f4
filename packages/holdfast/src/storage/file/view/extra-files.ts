// The files of the view besides those of jobs: chains of several jobs, groups, keys, pauses and key-value entries.

import { join } from 'node:path'
import { decodeKvKey } from '../../kv.ts'
import type { MemoryJob } from '../../memory/data.ts'
import { refOf } from '../../rules/move.ts'
import { bytesToJson } from '../log/bytes-json.ts'
import type { Replica } from '../replica/replica.ts'
import { typeFolder } from './job-files.ts'
import { fileName } from './file-name.ts'

export type Extra =
  | { readonly kind: 'chain' | 'group' | 'key'; readonly type: string; readonly name: string }
  | { readonly kind: 'pause'; readonly type: string; readonly name: '' }
  | { readonly kind: 'entry'; readonly type: ''; readonly name: string }

export function extraPath({ kind, type, name }: Extra): string {
  if (kind === 'entry') return join('kv', `${fileName(name)}.json`)
  return kind === 'pause'
    ? join(typeFolder(type), 'paused.json')
    : join(typeFolder(type), `${kind}s`, `${fileName(name)}.json`)
}

/** Undefined if there is nothing to show. */
export function extraBytes(replica: Replica, { kind, type: typeName, name }: Extra): Buffer | undefined {
  const type = replica.data.types.get(typeName)
  const seen = {
    chain: () => chainJson(type?.jobs.get(name)),
    group: () => {
      const group = type?.groups.get(name)
      if (!group) return undefined
      const { running, size, members, paused } = group
      return { group: name, running, jobs: size, next: members.peek()?.job.id, paused }
    },
    key: () => {
      const mark = type?.keys.get(name)
      return mark && { key: name, id: mark.id, mode: mark.mode, shared: mark.shared || undefined, until: mark.until }
    },
    pause: () => type?.paused,
    entry: () => {
      const entry = replica.kv.entries.get(name)
      return entry && { key: decodeKvKey(name), until: entry.until, value: bytesToJson(entry.value) }
    },
  }[kind]()
  return seen && Buffer.from(`${JSON.stringify(seen, null, 2)}\n`)
}

function chainJson(chain: MemoryJob | undefined): object | undefined {
  if (!chain || chain.chain !== chain || !(chain.jobs || chain.dependents?.size)) return undefined
  return {
    chain: chain.id,
    state: chain.tail.state,
    jobs: (chain.jobs ?? [chain]).map(refOf),
    waitingForIt: [...(chain.dependents ?? [])].map(refOf),
  }
}
