// The steps of a delivery at which a process of the sender kills itself with SIGKILL. `seal:3` means: the third time that the
// process reaches the step `seal`.

export type SenderRole = 'producer' | 'worker'

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
} as const

export type PointName = (typeof pointNames)[SenderRole][number]

export interface Point {
  readonly name: PointName
  readonly number: number
}

export const written = ({ name, number }: Point): string => `${name}:${number}`

/** @throws Error if there is no such point */
export function parsePoint(text: string): Point {
  const [name, number = ''] = text.split(':')
  const known = [...pointNames.producer, ...pointNames.worker].find((one) => one === name)
  if (!known || !/^[1-9]\d*$/.test(number)) throw new Error(`kill point: expected <name>:<number>, got "${text}"`)
  return { name: known, number: Number(number) }
}
