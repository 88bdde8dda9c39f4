// The kill points: every named step at which a process may kill itself. Written verb:moment:n, as in
// HOLDFAST_CRASH=settle:applied:3: after the third settle was applied, before its reply is seen.

export const roles = ['worker', 'producer', 'operator'] as const
export type Role = (typeof roles)[number]

export interface Point {
  /** A verb of the storage, with `kv.` before those of the key-value store; `outcomes`, a claim that settles some; or `handler`. */
  readonly step: string
  /** `before`: not sent. `applied`: done, its reply unseen. For a handler: the place in it. */
  readonly moment: string
  /** The number of the call, from 1. */
  readonly number: number
}

const callMoments = ['before', 'applied']
const commonVerbs = ['connect', 'disconnect', 'listen', 'unlisten']
/** A worker adds what its schedule says. */
const workerVerbs = ['add', 'claim', 'outcomes', 'extend', 'settle', 'nextDueAt', 'recover', 'sweep']
const kvVerbs = ['kv.get', 'kv.set', 'kv.setIfAbsent', 'kv.cas', 'kv.delete', 'kv.list']
const producerVerbs = ['add', 'cancel', 'revive', 'remove', 'get', 'list', 'count']
const operatorVerbs = ['connect', 'disconnect', 'pause', 'revive', 'list', 'count']

const named = (steps: readonly string[], moments: readonly string[]): string[] =>
  steps.flatMap((step) => moments.map((moment) => `${step}:${moment}`))

/** The kill points without their numbers. */
export const pointNames: Readonly<Record<Role, readonly string[]>> = {
  worker: [
    ...named([...commonVerbs, ...workerVerbs, ...kvVerbs], callMoments),
    ...named(['handler'], ['start', 'middle', 'end']),
  ],
  producer: named([...commonVerbs, ...producerVerbs], callMoments),
  operator: named(operatorVerbs, callMoments),
}

/** Whether a process reaches the point only when it stops. */
export const isOfStopping = ({ step }: Point): boolean => ['settle', 'unlisten', 'disconnect'].includes(step)

/** Whether only a Reaper with leader election reaches the point. */
export const isOfReaper = (step: string): boolean => ['recover', 'kv.setIfAbsent', 'kv.cas'].includes(step)

const onceOnly = ['connect', 'disconnect', 'listen', 'unlisten', 'kv.setIfAbsent']

/** The highest useful number of a point: some steps occur once per process. */
export function highestNumber(name: string): number {
  const step = name.slice(0, name.indexOf(':'))
  return onceOnly.includes(step) ? 1 : ['settle', 'extend', 'kv.cas'].includes(step) ? 2 : 4
}

export const nameOf = ({ step, moment }: Point): string => `${step}:${moment}`

export const written = (point: Point): string => `${nameOf(point)}:${point.number}`

/** @throws Error for an unknown kill point */
export function parsePoint(text: string): Point {
  const [step = '', moment = '', number = ''] = text.split(':')
  const known = roles.some((role) => pointNames[role].includes(`${step}:${moment}`))
  if (!known || !/^[1-9]\d*$/.test(number))
    throw new Error(`HOLDFAST_CRASH: expected a kill point such as "settle:applied:3", got "${text}"`)
  return { step, moment, number: Number(number) }
}
