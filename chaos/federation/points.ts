// The steps of a delivery at which a process of the sender or the receiver kills itself with SIGKILL. `seal:3` means: the third time that
// the process reaches the step `seal`.

export type Role = 'producer' | 'worker' | 'receiver'

export const pointNames = {
  producer: [
    /** The follow or post and its delivery are committed. With jobs in another database, there is no job yet. */
    'commit',
  ],
  worker: [
    'claim',
    /** The keys of the receiver are pinned; the sender is not registered there yet. */
    'pin',
    /** Encrypted and counted as an attempt; neither signed nor sent. */
    'seal',
    /** Sent; whether it arrived is unknown. */
    'send',
    /** The reply arrived and is not decrypted yet. */
    'reply',
    /** The content of the acknowledgement is committed. */
    'ack',
    /** The job is completed; the row of its delivery still exists. */
    'complete',
  ],
  receiver: [
    /** The handler of the app has been asked; nothing is written. */
    'decide',
    /** The effect is written and not committed. */
    'apply',
    /** Effect, inbox row and acknowledgement are committed; the sender has no answer. */
    'answer',
  ],
} as const

export type PointName = (typeof pointNames)[Role][number]

export const allPoints: readonly PointName[] = [...pointNames.producer, ...pointNames.worker, ...pointNames.receiver]

export interface Point {
  readonly name: PointName
  readonly number: number
}

export const written = ({ name, number }: Point): string => `${name}:${number}`

/** @throws Error if there is no such point */
export function parsePoint(text: string): Point {
  const [name, number = ''] = text.split(':')
  const known = allPoints.find((one) => one === name)
  if (!known || !/^[1-9]\d*$/.test(number)) throw new Error(`kill point: expected <name>:<number>, got "${text}"`)
  return { name: known, number: Number(number) }
}
