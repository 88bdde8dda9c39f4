// The law of explain: explain and claim never disagree. A storage that is wrapped by it explains every live job of the wanted types
// before each claim, and compares:
//
//   - a job whose only reason is `ready` is started by the claim, or ended by it instead;
//   - a job that the claim starts had no reason that says otherwise.
//
// A claim ahead may pass over a job that waits for a free slot, so only the second line is checked for it.
// A claim that settles outcomes, takes leases back or ends jobs changes what it finds. Then only the first line is checked, and only if
// nothing was settled or ended.

import type { ClaimRequest, Storage } from 'holdfast/storage'
import { explainJob } from '../../../src/engine/explain/explain.ts'
import type { Explanation, ReasonCode } from '../../../src/engine/explain/explanation.ts'
import { isAhead } from '../../../src/storage/rules/job/ahead.ts'

type Explain = typeof explainJob

/** Reasons of jobs that a claim may start. */
const startable: readonly ReasonCode[] = ['ready', 'behind']

/** What was compared: a law that never applies proves nothing. */
export interface Compared {
  ready: number
  started: number
  readonly codes: Map<ReasonCode, number>
}

export const nothingCompared = (): Compared => ({ ready: 0, started: 0, codes: new Map() })

export function lawful(storage: Storage, compared: Compared, explain: Explain = explainJob): Storage {
  const claim: Storage['claim'] = async (request) => {
    const explained = await explainAll(storage, request, explain)
    for (const { reasons } of explained.values()) {
      for (const { code } of reasons) compared.codes.set(code, (compared.codes.get(code) ?? 0) + 1)
    }
    const answer = await storage.claim(request)
    if (request.outcomes?.length || answer.ended.length > 0) return answer
    const started = new Set(answer.jobs.map(nameOf))
    for (const [name, { reasons }] of explained) {
      const isReady = reasons.length === 1 && reasons[0]!.code === 'ready'
      if (isReady && isInTurn(request, name) && !isAhead(request.worker)) {
        compared.ready++
        if (!started.has(name)) throw new Error(`${name} is ready, but the claim passed it over`)
      }
      if (!started.has(name) || answer.recovered.length > 0) continue
      compared.started++
      const other = reasons.find(({ code }) => !startable.includes(code))
      if (other) throw new Error(`${name} was started, but ${other.code}: ${other.sentence}`)
    }
    return answer
  }
  return new Proxy(storage, {
    get: (target, key) => {
      if (key === 'claim') return claim
      const value: unknown = Reflect.get(target, key)
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })
}

const nameOf = ({ type, id }: { readonly type: string; readonly id: string }): string => JSON.stringify([type, id])

/** A claim of one slot for two types reaches only the first of them. */
function isInTurn({ types, slots }: ClaimRequest, name: string): boolean {
  const [type] = JSON.parse(name) as [string]
  return types.findIndex((wanted) => wanted.type === type) < slots
}

async function explainAll(
  storage: Storage,
  { types }: ClaimRequest,
  explain: Explain,
): Promise<Map<string, Explanation>> {
  const explained = new Map<string, Explanation>()
  for (const { type, limits } of types) {
    const { items } = await storage.list({ of: 'jobs', types: [type], limit: 1_000 })
    for (const { id } of items) {
      const ref = { type, id }
      explained.set(nameOf(ref), await explain(storage, ref, { limits, withWorkers: false }))
    }
  }
  return explained
}
