// The kill points: every named step at which a process may be made to end itself. Written verb:moment:n, as in
// HOLDFAST_CRASH=settle:applied:3, the third settle, whose answer is never seen.

export type Role = 'worker' | 'producer'

export interface Point {
  /** A verb of the storage, `kv.` before those of its key-value store; or `handler`. */
  readonly step: string
  /** `before`: not sent. `applied`: done, its answer unseen. Of a handler: where in it. */
  readonly moment: string
  /** At which one of these calls. */
  readonly number: number
}

const callMoments = ['before', 'applied']
const everyone = ['connect', 'disconnect', 'listen', 'unlisten']
const workerVerbs = ['claim', 'extend', 'settle', 'nextDueAt', 'recover', 'sweep']
const kvVerbs = ['kv.get', 'kv.set', 'kv.setIfAbsent', 'kv.cas', 'kv.delete', 'kv.list']
const producerVerbs = ['add', 'cancel', 'revive', 'remove', 'pause', 'get', 'list', 'count']

const named = (steps: readonly string[], moments: readonly string[]): string[] =>
  steps.flatMap((step) => moments.map((moment) => `${step}:${moment}`))

/** Without their numbers. */
export const pointNames: Readonly<Record<Role, readonly string[]>> = {
  worker: [
    ...named([...everyone, ...workerVerbs, ...kvVerbs], callMoments),
    ...named(['handler'], ['start', 'middle', 'end']),
  ],
  producer: named([...everyone, ...producerVerbs], callMoments),
}

/** Those that a process comes to only when it is told to stop. */
export const isOfStopping = ({ step }: Point): boolean => ['settle', 'unlisten', 'disconnect'].includes(step)

/** Those that only a Reaper comes to, with its election. */
export const isOfReaper = (step: string): boolean => ['recover', 'kv.setIfAbsent', 'kv.cas'].includes(step)

const onceOnly = ['connect', 'disconnect', 'listen', 'unlisten', 'kv.setIfAbsent']

/** How often the step may come before it is the one: some come once in a life. */
export function highestNumber(name: string): number {
  const step = name.slice(0, name.indexOf(':'))
  return onceOnly.includes(step) ? 1 : ['settle', 'extend', 'kv.cas'].includes(step) ? 2 : 4
}

export const nameOf = ({ step, moment }: Point): string => `${step}:${moment}`

export const written = (point: Point): string => `${nameOf(point)}:${point.number}`

/** @throws Error if there is no such point */
export function parsePoint(text: string): Point {
  const [step = '', moment = '', number = ''] = text.split(':')
  const known = pointNames.worker.includes(`${step}:${moment}`) || pointNames.producer.includes(`${step}:${moment}`)
  if (!known || !/^[1-9]\d*$/.test(number)) throw new Error(`HOLDFAST_CRASH: no such kill point: "${text}"`)
  return { step, moment, number: Number(number) }
}
