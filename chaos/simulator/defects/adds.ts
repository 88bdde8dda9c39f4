// Defects of adds: lost, half, repeated, altered, too early, without key or group.

import type { AddVerdict, NewJob } from 'holdfast/storage'
import type { Defect } from './defect.ts'
import { changingAdds, every, ofStorage, recordOf, without } from './plant.ts'

const added = ({ type, id, token }: NewJob): AddVerdict => ({
  verdict: 'added',
  job: { type, id, token, state: 'queued' },
})

export const addDefects: readonly Defect[] = [
  ofStorage('lost-add', ['S1', 'S3'], 'an add is acknowledged and not written', () => {
    const isTurn = every(7)
    return async (verb, args, call) => (verb === 'add' && isTurn() ? (args[0] as readonly NewJob[]).map(added) : call())
  }),
  ofStorage('half-batch', ['S3'], 'of a batch only the first job is written', (storage) => async (verb, args, call) => {
    const jobs = (verb === 'add' ? args[0] : []) as readonly NewJob[]
    if (jobs.length < 2 || jobs.some(({ blockers }) => blockers)) return call()
    return [...(await storage.add(jobs.slice(0, 1))), ...jobs.slice(1).map(added)]
  }),
  ofStorage('repeated-add', ['S3'], 'the repeat of an add makes a second job', (storage) => {
    const tokens = new Set<string>()
    return async (verb, args, call) => {
      if (verb !== 'add') return call()
      const jobs = args[0] as readonly NewJob[]
      const repeated = jobs.filter(({ token, id }) => tokens.has(`${token} ${id}`))
      for (const { token, id } of jobs) tokens.add(`${token} ${id}`)
      const verdicts = await call()
      if (repeated.length > 0)
        await storage.add(repeated.map((job) => ({ ...withoutKey(job), id: `${job.id}~`, blockers: [] })))
      return verdicts
    }
  }),
  ofStorage('altered-add', ['S2'], 'a job is stored with another payload', (storage) => {
    const isTurn = every(5)
    return changingAdds((job) => (isTurn() ? { ...job, payload: Buffer.from('"payload-0"') } : job))(storage)
  }),
  ofStorage(
    'early-add',
    ['S14'],
    'the delay of a job is forgotten',
    changingAdds((job) => without(job, 'delayMs')),
  ),
  ofStorage(
    'key-ignored',
    ['S11'],
    'deduplication keys are forgotten',
    changingAdds((job) => (isSlot(job) ? job : withoutKey(job))),
  ),
  ofStorage('key-stays', ['S11'], 'the key of a failed job is not freed', (storage) => {
    const holders = new Map<string, NewJob>()
    return async (verb, args, call) => {
      const [job, ...others] = (verb === 'add' ? args[0] : []) as readonly NewJob[]
      if (!job || others.length > 0 || job.deduplication?.mode !== 'simple') return call()
      const key = `${job.type} ${job.deduplication.key}`
      const holder = holders.get(key)
      const record = holder && (await recordOf(storage, holder))
      if (record && record.token === holder.token && (record.state === 'failed' || record.state === 'cancelled')) {
        const { type, id, token } = holder
        return [
          { verdict: 'duplicate', by: 'key', job: { type, id, token, state: record.state } },
        ] satisfies AddVerdict[]
      }
      const verdicts = (await call()) as readonly AddVerdict[]
      if (verdicts[0]!.verdict === 'added') holders.set(key, job)
      return verdicts
    }
  }),
  ofStorage('look-then-add', ['S11'], 'two adds of one id both see it free', (storage) => async (verb, args, call) => {
    for (const job of (verb === 'add' ? args[0] : []) as readonly NewJob[]) {
      const record = await recordOf(storage, job)
      const isOther = record !== undefined && record.token !== job.token && record.state !== 'completed'
      if (isOther && record.openBlockers === 0) await storage.remove([job], { trees: true })
    }
    return call()
  }),
  ofStorage(
    'always-replaced',
    ['S11'],
    'a waiting job is replaced although no call asked for it',
    changingAdds((job) => (job.blockers || job.deduplication ? job : { ...job, onDuplicate: 'replace' })),
  ),
  ofStorage('wrong-duplicate', ['S11'], 'a duplicate names another job', () => async (verb, _, call) => {
    const answer = await call()
    if (verb !== 'add') return answer
    return (answer as readonly AddVerdict[]).map((one) =>
      one.verdict === 'duplicate' ? { ...one, job: { ...one.job, id: `${one.job.id}?` } } : one,
    )
  }),
  ofStorage(
    'unordered-group',
    ['S15'],
    'an ordered group is not ordered',
    changingAdds((job) => (job.group?.ordered ? { ...job, group: { key: job.group.key } } : job)),
  ),
  ofStorage(
    'group-forgotten',
    ['S15', 'S16'],
    'the group of a job is forgotten',
    changingAdds((job) => without(job, 'group')),
  ),
  ofStorage(
    'priority-ignored',
    ['S15'],
    'priorities are forgotten',
    changingAdds((job) => without(job, 'priority')),
  ),
  ofStorage(
    'priority-reversed',
    ['S15'],
    'the lowest priority comes first',
    changingAdds((job) => ({ ...job, priority: -(job.priority ?? 0) })),
  ),
  ofStorage(
    'attempts-unbounded',
    ['S17'],
    'the number of attempts is forgotten',
    changingAdds((job) => ({ ...job, maxAttempts: 1_000 })),
  ),
  ofStorage(
    'blocker-forgotten',
    ['S13'],
    'the last blocker of a job is forgotten',
    (storage) => async (verb, args, call) => {
      const jobs = (verb === 'add' ? args[0] : []) as readonly NewJob[]
      if (!jobs.some(({ blockers }) => blockers && blockers.length > 1)) return call()
      return storage.add(jobs.map((job) => (job.blockers ? { ...job, blockers: job.blockers.slice(0, 1) } : job)))
    },
  ),
  ofStorage(
    'slot-per-process',
    ['S21'],
    'every process adds a job of its own for a slot',
    changingAdds((job) => (isSlot(job) ? { ...withoutKey(job), id: `${job.id}@${job.token.split('/')[2]}` } : job)),
  ),
]

const isSlot = ({ token }: NewJob): boolean => token.startsWith('schedule/')

const withoutKey = (job: NewJob): NewJob => without(job, 'deduplication')
