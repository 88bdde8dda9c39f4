// Defects of outcomes and heartbeats: fences that are not compared, verdicts that are not true, retries at the wrong time.

import type { ClaimRequest, Extension, LeaseVerdict, Outcome, SettleVerdict } from 'holdfast/storage'
import type { Defect } from './defect.ts'
import { changingOutcomes, changingVerdicts, every, holderOf, inNameOf, ofStorage, recordOf } from './plant.ts'

const baseOf = (worker: string): string => worker.replace(/\/\d+(\+ahead)?$/, '')

const outcomesOf = (verb: string, args: readonly unknown[]): readonly Outcome[] =>
  verb === 'settle'
    ? (args[0] as readonly Outcome[])
    : verb === 'claim'
      ? ((args[0] as ClaimRequest).outcomes ?? [])
      : []

const counted: SettleVerdict = { verdict: 'settled', state: 'completed', added: [], ended: [], unblocked: [] }

export const outcomeDefects: readonly Defect[] = [
  ofStorage(
    'settle-by-id',
    ['S6'],
    'an outcome is compared by its id only',
    changingOutcomes(async (outcome, storage) => {
      const holder = await holderOf(storage, outcome)
      return holder ? inNameOf(outcome, holder) : outcome
    }),
  ),
  ofStorage(
    'fence-by-worker',
    ['S6'],
    'the fence is the worker, without the claim and the attempt',
    changingOutcomes(async (outcome, storage) => {
      const holder = await holderOf(storage, outcome)
      const isSame = holder && 'worker' in outcome && baseOf(holder.worker) === baseOf(outcome.worker)
      return isSame ? inNameOf(outcome, holder) : outcome
    }),
  ),
  ofStorage(
    'fence-by-attempt',
    ['S6'],
    'the fence is the number of the attempt, without the worker',
    changingOutcomes(async (outcome, storage) => {
      const holder = await holderOf(storage, outcome)
      const isSame = holder && 'worker' in outcome && holder.attempt === outcome.attempt
      return isSame ? inNameOf(outcome, holder) : outcome
    }),
  ),
  ofStorage('extend-by-id', ['S6'], 'a heartbeat is compared by its id only', (storage) => async (verb, args, call) => {
    if (verb !== 'extend') return call()
    const leases = args[0] as readonly Extension[]
    return storage.extend(
      await Promise.all(leases.map(async (lease) => ({ ...lease, ...(await holderOf(storage, lease)) }))),
    )
  }),
  ofStorage(
    'stale-report',
    ['S6'],
    'the progress of a run that was replaced is stored',
    (storage) => async (verb, args, call) => {
      const answer = await call()
      if (verb !== 'extend') return answer
      for (const [index, lease] of (args[0] as readonly Extension[]).entries()) {
        const isRefused = !('until' in (answer as LeaseVerdict[])[index]!)
        const holder = isRefused && lease.progress ? await holderOf(storage, lease) : undefined
        if (holder) await storage.extend([{ ...lease, ...holder }])
      }
      return answer
    },
  ),
  ofStorage('repeat-refused', ['S7'], 'the repeat of an outcome is told taken_by_another_worker', () => {
    const settled = new Set<string>()
    return changingVerdicts((verdicts, outcomes) =>
      verdicts.map((verdict, index) => {
        const outcome = outcomes[index]!
        const fence =
          'worker' in outcome ? `${outcome.type} ${outcome.id} ${outcome.worker} ${outcome.attempt}` : undefined
        if (verdict.verdict !== 'settled' || fence === undefined) return verdict
        if (settled.has(fence)) return { verdict: 'taken_by_another_worker' }
        settled.add(fence)
        return verdict
      }),
    )()
  }),
  ofStorage(
    'shifted-verdicts',
    ['S7', 'S10'],
    'the verdicts of a batch are shifted by one',
    changingVerdicts((verdicts) => [...verdicts.slice(1), ...verdicts.slice(0, 1)]),
  ),
  ofStorage(
    'stale-told-settled',
    ['S7'],
    'a worker that was replaced is told that its outcome counts',
    changingVerdicts((verdicts) =>
      verdicts.map((verdict) => (verdict.verdict === 'taken_by_another_worker' ? counted : verdict)),
    ),
  ),
  ofStorage(
    'wrong-state',
    ['S7'],
    'every outcome is told completed',
    changingVerdicts((verdicts) =>
      verdicts.map((verdict) => (verdict.verdict === 'settled' ? { ...verdict, state: 'completed' } : verdict)),
    ),
  ),
  ofStorage('dropped-outcome', ['S7'], 'an outcome is acknowledged and not written', (storage) => {
    const isTurn = every(8)
    return async (verb, args, call) => {
      const outcomes = outcomesOf(verb, args)
      if (outcomes.length === 0 || !isTurn()) return call()
      const verdicts = outcomes.map(() => counted)
      return verb === 'settle'
        ? verdicts
        : { ...(await storage.claim({ ...(args[0] as ClaimRequest), outcomes: [] })), settled: verdicts }
    }
  }),
  ofStorage(
    'dropped-heartbeat',
    ['S7'],
    'a heartbeat is acknowledged and not written',
    (_, now) => async (verb, args, call) =>
      verb === 'extend'
        ? (args[0] as readonly Extension[]).map(({ leaseMs }): LeaseVerdict => ({
            verdict: 'extended',
            until: now() + leaseMs,
          }))
        : call(),
  ),
  ofStorage(
    'late-outcome-refused',
    ['S10'],
    'an outcome is refused once the lease is over',
    (storage, now) => async (verb, args, call) => {
      const outcomes = outcomesOf(verb, args)
      const isLate = await Promise.all(
        outcomes.map(async (outcome) => {
          const record = await recordOf(storage, outcome)
          return (
            record?.leaseUntil !== undefined &&
            'worker' in outcome &&
            record.worker === outcome.worker &&
            record.leaseUntil <= now()
          )
        }),
      )
      if (!isLate.includes(true) || verb !== 'settle') return call()
      const verdicts = await storage.settle(outcomes.filter((_, index) => !isLate[index]))
      return isLate.map((late) => (late ? { verdict: 'taken_by_another_worker' } : verdicts.shift()!))
    },
  ),
  ofStorage(
    'late-heartbeat-refused',
    ['S10'],
    'a heartbeat is refused once the lease is over',
    (storage, now) => async (verb, args, call) => {
      if (verb !== 'extend') return call()
      const leases = args[0] as readonly Extension[]
      const verdicts: LeaseVerdict[] = []
      for (const lease of leases) {
        const record = await recordOf(storage, lease)
        const isLate = record?.leaseUntil !== undefined && record.worker === lease.worker && record.leaseUntil <= now()
        verdicts.push(isLate ? { verdict: 'taken_by_another_worker' } : (await storage.extend([lease]))[0]!)
      }
      return verdicts
    },
  ),
  ofStorage(
    'heartbeat-revives',
    ['S8'],
    'a heartbeat makes an ended job live again',
    (storage) => async (verb, args, call) => {
      const answer = await call()
      if (verb !== 'extend') return answer
      for (const [index, { type, id }] of (args[0] as readonly Extension[]).entries()) {
        if (!('until' in (answer as LeaseVerdict[])[index]!)) await storage.revive([{ type, id }], { only: 'ended' })
      }
      return answer
    },
  ),
  ofStorage(
    'retry-undoes-cancel',
    ['S8', 'S9'],
    'a late retry brings a cancelled job back',
    (storage) => async (verb, args, call) => {
      const answer = await call()
      const verdicts = verb === 'settle' ? answer : verb === 'claim' ? (answer as { settled: unknown }).settled : []
      for (const [index, { type, id }] of outcomesOf(verb, args).entries()) {
        if ((verdicts as SettleVerdict[])[index]!.verdict === 'cancelled')
          await storage.revive([{ type, id }], { only: 'ended' })
      }
      return answer
    },
  ),
  ofStorage(
    'continued-later',
    ['S13'],
    'the next job of a chain is added after the outcome',
    (storage) => async (verb, args, call) => {
      const outcomes = outcomesOf(verb, args)
      if (verb !== 'settle' || !outcomes.some(({ kind }) => kind === 'continued')) return call()
      const verdicts = await storage.settle(outcomes.map((one) => (one.kind === 'continued' ? completedOf(one) : one)))
      for (const one of outcomes) if (one.kind === 'continued') await storage.add([one.next])
      return verdicts
    },
  ),
  ofStorage(
    'retry-at-once',
    ['S14', 'S18'],
    'a retry is due at once',
    changingOutcomes((outcome) => (outcome.kind === 'retry' ? { ...outcome, delayMs: 0 } : outcome)),
  ),
  ofStorage(
    'retry-too-late',
    ['S18'],
    'a retry comes three times as late',
    changingOutcomes((outcome) =>
      outcome.kind === 'retry' && outcome.delayMs ? { ...outcome, delayMs: outcome.delayMs * 3 } : outcome,
    ),
  ),
  ofStorage(
    'payload-at-retry',
    ['S2'],
    'the payload of a job is encoded anew at a retry',
    (storage) => async (verb, args, call) => {
      const answer = await call()
      for (const { type, id, kind } of outcomesOf(verb, args)) {
        const record = kind === 'retry' ? await recordOf(storage, { type, id }) : undefined
        if (record?.state === 'failing')
          await storage.revive([{ type, id, payload: Buffer.from('"payload-00"') }], {
            only: 'waiting',
            runAt: record.runAt,
          })
      }
      return answer
    },
  ),
]

/** As completed, without the next job. */
function completedOf(outcome: Outcome & { kind: 'continued' }): Outcome {
  const { next: _, add: __, ...fence } = outcome
  return { ...fence, kind: 'completed' } as Outcome
}
