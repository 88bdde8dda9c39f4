// What the limits of a type mean for the jobs that are added: how many may wait, how heavy one may be, and what its failure does to its
// group. The storage decides about the first; the verdicts become errors here.

import type { Clock } from '../../clock.ts'
import { HoldfastError, invalidArgument, QueueFullError } from '../../errors.ts'
import type { AddVerdict, NewJob } from '../../storage/storage.ts'
import { parseType } from '../../storage/stored-type.ts'
import { engineDefaults } from '../defaults.ts'
import type { GuardedStorage } from '../guard.ts'
import { type EffectiveLimits, groupLimitsOf } from './effective-limits.ts'
import type { GroupLimitsOptions } from './limits-options.ts'
import type { LimitsCopy } from './limits-copy.ts'

/** The part of a job that limits are about. */
interface Limited {
  readonly type: string
  group?: NewJob['group']
  readonly weight?: NewJob['weight']
  maxWaiting?: NewJob['maxWaiting']
}

/** The limits that a producer applies. */
export class AddLimits {
  readonly #copy: LimitsCopy
  readonly #clock: Clock
  readonly #waits: boolean
  readonly #isExclusive: boolean
  /** Calls wait for a read: a later call waits with them, so that jobs are added in the order of the calls. */
  #turn: Promise<void> | undefined
  /** When a producer that does not wait looked last: local, monotonic ms. */
  #lookedAt: number | undefined

  /**
   * @param waits reads the limits before an add if the copy is old. False: an add does not wait for it, and the first read comes 5 s after
   * the first add: a program that adds a job and ends makes no call for limits that nearly no type has
   */
  constructor(
    copy: LimitsCopy,
    {
      clock,
      waits,
      storage,
    }: { readonly clock: Clock; readonly waits: boolean; readonly storage: Pick<GuardedStorage, 'settings'> },
  ) {
    this.#copy = copy
    this.#clock = clock
    this.#waits = waits
    this.#isExclusive = storage.settings.exclusiveTransactions === true
  }

  /** Undefined: the limits are known, or the producer does not wait for them. Else to be awaited before apply(). */
  ready(): Promise<void> | undefined {
    if (!this.#waits) return undefined
    if (this.#turn) return this.#turn
    if (this.#copy.isFresh) return undefined
    const turn = this.#copy.refresh()
    const end = (): void => void (this.#turn = undefined)
    // Before the reactions of the callers: a call that comes after them goes on at once.
    turn.then(end, end)
    this.#turn = turn
    return turn
  }

  /** In place of ready(), for an add in a transaction of the user: it does not wait for a read, which may wait for the transaction. */
  readyInTransaction(): void {
    if (this.#isExclusive) return
    if (!this.#waits) this.look()
    else if (!this.#copy.isFresh) this.#refresh()
  }

  /** Reads the limits beside an add, if the producer does not wait. To be called with each call to the storage, not with each job. */
  look(): void {
    if (this.#waits) return
    const now = this.#clock.monotonic()
    this.#lookedAt ??= now
    if (now - this.#lookedAt < engineDefaults.limitsMs) return
    this.#lookedAt = now
    this.#refresh()
  }

  /** Beside the add. After a failure, adds use what is known; they tell themselves that the storage fails. */
  #refresh(): void {
    void this.#copy.refresh().catch(() => {})
  }

  /** Sets what the storage is to check. @throws TypeError INVALID_ARGUMENT for a job that is heavier than a rate allows */
  apply(job: Limited): void {
    const limits = this.#copy.of(job.type)
    if (limits) setLimits(job, limits, true)
  }

  /** As apply(), for a job that follows from another: it is never refused for the number of jobs that wait. */
  applyToNext(job: Limited): void {
    const limits = this.#copy.of(job.type)
    if (limits) setLimits(job, limits, false)
  }
}

function setLimits(job: Limited, limits: EffectiveLimits, bounded: boolean): void {
  const { group } = job
  const ofGroup = group && groupLimitsOf(limits, group.key)
  if (job.weight !== undefined) checkWeight(job.type, job.weight, limits, ofGroup)
  if (group?.ordered && group.onFailure === undefined && ofGroup?.onFailure === 'hold') {
    job.group = { ...group, onFailure: 'hold' }
  }
  if (!bounded) return
  const [type, waiting] = [finite(limits.type.maxWaiting), finite(ofGroup?.maxWaiting)]
  if (type === undefined && waiting === undefined) return
  job.maxWaiting = { ...(type !== undefined && { type }), ...(waiting !== undefined && { group: waiting }) }
}

const finite = (count: number | undefined): number | undefined => (count === Infinity ? undefined : count)

function checkWeight(
  type: string,
  weight: number,
  { type: { rate } }: EffectiveLimits,
  group: GroupLimitsOptions | undefined,
): void {
  const { name } = parseType(type)
  if (rate && weight > rate.limit) {
    throw invalidArgument('weight', `at most ${rate.limit}, the limit of the rate of '${name}'`, weight)
  }
  if (group?.rate && weight > group.rate.limit) {
    throw invalidArgument('weight', `at most ${group.rate.limit}, the limit of the rate of its group`, weight)
  }
}

/** Whether the storage may refuse the job alone. It then needs a token of its own: a refusal is for all jobs of a token. */
export const mayBeRefused = ({ group, maxWaiting }: Pick<NewJob, 'group' | 'maxWaiting'>): boolean =>
  group !== undefined || maxWaiting !== undefined

/** The error of a verdict that refuses the job for a limit or its group. Undefined for any other verdict. */
export function refusalOf(
  verdict: AddVerdict,
  job: Pick<NewJob, 'type' | 'id' | 'group' | 'maxWaiting'>,
): HoldfastError | undefined {
  if (verdict.verdict === 'queue_full') {
    const { of, waiting } = verdict
    const { face, name } = parseType(job.type)
    const group = of === 'group' ? job.group?.key : undefined
    return new QueueFullError({ of, waiting, max: job.maxWaiting?.[of] ?? waiting, face, name, group })
  }
  if (verdict.verdict !== 'group_kind') return undefined
  const { key } = job.group!
  const [has, needs] = verdict.ordered ? ['ordered', 'ordered: true'] : ['not ordered', 'ordered: false']
  const message = `Job '${job.id}': its group '${key}' has unfinished jobs that are ${has}. Nothing was written. Add it with \`${needs}\`, or under another key.`
  return new HoldfastError('GROUP_KIND', message, { jobId: job.id, group: key, ordered: verdict.ordered })
}
