// What the storage answered, one entry per item of a call.

import type {
  AddVerdict,
  CancelOptions,
  CancelVerdict,
  Claim,
  ClaimRequest,
  Extension,
  GetOptions,
  JobRecord,
  JobRef,
  LeaseVerdict,
  NewJob,
  Outcome,
  SettleVerdict,
} from 'holdfast/storage'
import { fenceOf } from '../../entries.ts'
import type { Answer } from './entries.ts'
import { hashOf } from './record-changes.ts'
import { itemsOf } from './storage-log.ts'

export function answersOf(verb: string, args: readonly unknown[], answer: unknown): Answer[] {
  switch (verb) {
    case 'add':
      return (args[0] as readonly NewJob[]).map((job, index) => addAnswer(job, (answer as AddVerdict[])[index]!))
    case 'settle':
      return settleAnswers(args[0] as readonly Outcome[], answer as SettleVerdict[])
    case 'claim':
      return claimAnswers(args[0] as ClaimRequest, answer as Claim)
    case 'extend':
      return (args[0] as readonly Extension[]).map((lease, index) => {
        const told = (answer as LeaseVerdict[])[index]!
        const until = 'until' in told ? told.until : undefined
        return {
          what: 'extendVerdict',
          type: lease.type,
          id: lease.id,
          fence: fenceOf(lease),
          verdict: told.verdict,
          until,
        }
      })
    case 'cancel':
      return (args[0] as readonly JobRef[]).map(({ type, id }, index) => {
        const { verdict } = (answer as CancelVerdict[])[index]!
        return {
          what: 'cancelVerdict',
          type,
          id,
          verdict,
          chains: (args[1] as CancelOptions | undefined)?.chains === true,
        }
      })
    case 'get':
      return readAnswers(args, answer as readonly (JobRecord | undefined)[])
    default:
      return []
  }
}

function addAnswer({ type, id, token, deduplication }: NewJob, verdict: AddVerdict): Answer {
  const standing = 'job' in verdict ? { id: verdict.job.id, token: verdict.job.token } : undefined
  const by = verdict.verdict === 'duplicate' ? verdict.by : undefined
  const mode = deduplication && ('windowMs' in deduplication && deduplication.windowMs ? 'window' : deduplication.mode)
  return { what: 'addVerdict', type, id, token, verdict: verdict.verdict, by, standing, key: deduplication?.key, mode }
}

function settleAnswers(outcomes: readonly Outcome[], verdicts: readonly SettleVerdict[]): Answer[] {
  return outcomes.flatMap((outcome, index): Answer[] => {
    const verdict = verdicts[index]!
    const { type, id, kind } = outcome
    const state = verdict.verdict === 'settled' ? verdict.state : undefined
    const added = verdict.verdict === 'settled' ? verdict.added : []
    const items = itemsOf('settle', [[outcome]])
    return [
      ...('worker' in outcome
        ? [{ what: 'settleVerdict' as const, type, id, fence: fenceOf(outcome), verdict: verdict.verdict, state, kind }]
        : []),
      ...added.map((one, place) => addAnswer(items[place]!, one)),
    ]
  })
}

function claimAnswers({ outcomes = [], slots, types }: ClaimRequest, { jobs, settled }: Claim): Answer[] {
  const fences = jobs.map((job) => `${job.type}/${job.id} ${fenceOf(job)}`)
  return [
    ...settleAnswers(outcomes, settled),
    { what: 'claimVerdict', slots, types: types.map(({ type }) => type), fences },
  ]
}

function readAnswers(args: readonly unknown[], records: readonly (JobRecord | undefined)[]): Answer[] {
  const hasResult = (args[1] as GetOptions | undefined)?.parts?.includes('result') === true
  return (args[0] as readonly JobRef[]).flatMap((ref, index): Answer[] => {
    if (!('id' in ref)) return []
    const record = records[index]
    const result = record?.state === 'completed' ? hashOf(record.result) : undefined
    return [{ what: 'read', type: ref.type, id: ref.id, state: record?.state, token: record?.token, result, hasResult }]
  })
}
