// The steps of a delivery at which a process of the sender may end itself by SIGKILL. Written name:n, as in seal:3, the third
// time that it comes there.

export type SenderRole = 'producer' | 'worker'

export const pointNames = {
  producer: [
    /** The follow or post, and its delivery, are committed. Where the jobs live elsewhere, there is none for it yet. */
    'commit',
  ],
  worker: [
    'claim',
    /** The keys of the receiver are pinned; it does not know ours yet. */
    'pin',
    /** Encrypted and counted as an attempt; not signed, not sent. */
    'seal',
    /** On its way; whether it arrived is unknown. */
    'send',
    /** The reply is there, and not opened. */
    'reply',
    /** What the acknowledgement says is committed. */
    'ack',
    /** The job is completed; its delivery's row is still there. */
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
  if (!known || !/^[1-9]\d*$/.test(number)) throw new Error(`no such kill point: "${text}"`)
  return { name: known, number: Number(number) }
}
