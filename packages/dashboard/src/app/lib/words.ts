// Numbers, times and rules in words.

const day = 86_400_000
const units = [
  ['d', day],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
] as const

/** '240 ms', '12 s', '3 min', '2 h 5 min', '4 d 2 h' */
export function duration(ms: number): string {
  const length = Math.max(0, ms)
  if (length < 1_000) return `${Math.round(length)} ms`
  const index = units.findIndex(([, unit]) => length >= unit)
  const [name, unit] = units[index]!
  if (name === 's')
    return `${length < 10_000 ? (length / 1_000).toFixed(1).replace(/\.0$/, '') : Math.floor(length / 1_000)} s`
  const rest = units[index + 1]!
  const more = Math.floor((length % unit) / rest[1])
  return `${Math.floor(length / unit)} ${name}${more > 0 && name !== 'min' ? ` ${more} ${rest[0]}` : ''}`
}

/** 'minute', '2 h': what stands after 'per'. */
export const period = (ms: number): string =>
  ({ 1_000: 'second', 60_000: 'minute', 3_600_000: 'hour', 86_400_000: 'day' })[ms] ?? duration(ms)

export function ago(at: number, now: number): string {
  return at > now ? `in ${duration(at - now)}` : now - at < 1_000 ? 'now' : `${duration(now - at)} ago`
}

const stamp = new Intl.DateTimeFormat('sv-SE', { dateStyle: 'short', timeStyle: 'medium' })
const clockTime = new Intl.DateTimeFormat('sv-SE', { timeStyle: 'medium' })

/** '2026-03-29 03:00:00', in the zone of the browser. */
export const instant = (at: number): string => stamp.format(at)
export const timeOfDay = (at: number): string => clockTime.format(at)

/** An instant as a field for local times takes it: '2026-03-29T03:00:00'. */
export const localText = (at: number): string => stamp.format(at).replace(' ', 'T')

const plain = new Intl.NumberFormat('en')
const short = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })

export const number = (value: number): string => (value === Infinity ? '∞' : plain.format(value))
/** For tiles and badges: '1.2M' */
export const shortNumber = (value: number): string => (value < 100_000 ? number(value) : short.format(value))

/** Ids differ at their end, where they are generated: '01a1edab…5ce03c70' */
export function shortId(id: string, most = 18): string {
  if (id.length <= most) return id
  const kept = most - 1
  return `${id.slice(0, Math.ceil(kept / 2))}…${id.slice(-Math.floor(kept / 2))}`
}

/** '1 job', '2 jobs' */
export const counted = (count: number, word: string): string => `${number(count)} ${word}${count === 1 ? '' : 's'}`

export function bytes(count: number): string {
  if (count < 1_024) return `${count} B`
  return count < 1_048_576 ? `${(count / 1_024).toFixed(1)} KiB` : `${(count / 1_048_576).toFixed(1)} MiB`
}
