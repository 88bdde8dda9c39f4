// The rule of a schedule in words, for the rules that most schedules have. Others are shown as they are written.

const days = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday']
const names: Readonly<Record<string, string>> = {
  '@yearly': 'once a year, on 1 January',
  '@annually': 'once a year, on 1 January',
  '@monthly': 'once a month, on the 1st',
  '@weekly': 'once a week, on Sunday',
  '@daily': 'every day at 00:00',
  '@midnight': 'every day at 00:00',
  '@hourly': 'every hour at :00',
}

/** Undefined: the rule has no simple words. */
export function ruleWords(rule: {
  readonly cron?: string | undefined
  readonly everyMs?: number | undefined
}): string | undefined {
  if (rule.everyMs !== undefined) return everyWords(rule.everyMs)
  const cron = rule.cron?.trim() ?? ''
  if (Object.hasOwn(names, cron.toLowerCase())) return names[cron.toLowerCase()]
  const fields = cron.split(/\s+/)
  return fields.length === 5 ? fieldsWords(fields as [string, string, string, string, string]) : undefined
}

function everyWords(ms: number): string {
  const units = [
    ['day', 86_400_000],
    ['hour', 3_600_000],
    ['minute', 60_000],
    ['second', 1_000],
  ] as const
  const [name, unit] = units.find(([, length]) => ms % length === 0) ?? ['ms', 1]
  const count = ms / unit
  if (name === 'ms') return `every ${count} ms`
  return count === 1 ? `every ${name}` : `every ${count} ${name}s`
}

function fieldsWords([minute, hour, date, month, weekday]: [string, string, string, string, string]):
  | string
  | undefined {
  if (month !== '*') return undefined
  const isAnyDay = date === '*' && weekday === '*'
  const step = /^\*\/(\d+)$/.exec(minute)?.[1]
  if (isAnyDay && hour === '*') {
    if (minute === '*') return 'every minute'
    if (step !== undefined) return step === '1' ? 'every minute' : `every ${step} minutes`
    if (isNumber(minute)) return `every hour at :${minute.padStart(2, '0')}`
  }
  if (!isNumber(minute) || !isNumber(hour)) return undefined
  const at = `at ${hour.padStart(2, '0')}:${minute.padStart(2, '0')}`
  if (isAnyDay) return `every day ${at}`
  if (date === '*' && weekday === '1-5') return `Monday to Friday ${at}`
  if (date === '*' && isNumber(weekday)) return days[Number(weekday)] && `every ${days[Number(weekday)]} ${at}`
  return weekday === '*' && isNumber(date) ? `every month on day ${date} ${at}` : undefined
}

const isNumber = (field: string): boolean => /^\d{1,2}$/.test(field)
