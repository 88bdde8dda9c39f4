import { command, type Context } from '../command.ts'
import { pauseFor } from '../pause-for.ts'
import { clockText } from '../time.ts'
import { draw } from '../top/draw.ts'
import { Screen } from '../top/screen.ts'
import { Top, type TopView } from '../top/top.ts'
import { waitingOf } from './status.ts'

export const top = command({
  name: 'top',
  summary: 'watch types, rates, workers and failures in the terminal',
  details: [
    'Keys: q quits, the arrows select a type, Enter opens it and Esc leaves it, p pauses or resumes it, r retries its failed jobs and asks first.',
    'Without a terminal it prints a line per look.',
  ],
  options: {
    every: { kind: 'duration', summary: 'time between two looks; default: 2s' },
    once: { kind: 'flag', summary: 'print one sight, and end' },
  },
  examples: [
    { line: 'holdfast top --once --url sqlite:./jobs.db', does: 'one sight' },
    { line: 'holdfast top --every 5s', does: 'a look every five seconds' },
  ],
  async run({ admin, storage, options, out, host }) {
    const { driver } = await storage()
    const model = new Top(await admin(), host.clock, driver)
    await model.refresh()
    const size = (): { columns: number; rows: number } => host.size() ?? { columns: 80, rows: 24 }
    if (options.once) {
      const view = model.view()
      if (out.isJson) out.json(view)
      else if (view.outage !== undefined) out.note(view.outage)
      else for (const parts of draw(view, size())) out.line(...parts)
      return view.outage === undefined ? 0 : 1
    }
    const everyMs = options.every ?? 2_000
    if (host.keys && !out.isJson) return watch(model, { host, out, everyMs, size, keys: host.keys })
    do {
      print(out, model.view())
      await model.refresh()
    } while (await pauseFor(host, everyMs))
    return 0
  },
})

interface Watching extends Pick<Context, 'host' | 'out'> {
  readonly everyMs: number
  readonly keys: NonNullable<Context['host']['keys']>
  size(): { readonly columns: number; readonly rows: number }
}

async function watch(model: Top, { host, out, everyMs, size, keys }: Watching): Promise<number> {
  const screen = new Screen(host, out.colors)
  const left = new AbortController()
  const ended = AbortSignal.any([host.interruption(), left.signal])
  const show = (): void => screen.draw(draw(model.view(), size()), size())
  screen.open()
  const forget = host.onResize(show)
  try {
    const reading = (async () => {
      for await (const key of keys(ended)) {
        await model.press(key)
        if (model.isOver) break
        show()
      }
      left.abort()
    })()
    do {
      show()
      await model.refresh()
      show()
    } while (await pauseFor({ clock: host.clock, interruption: () => ended }, everyMs))
    await reading
  } finally {
    left.abort()
    forget()
    screen.close()
  }
  return 0
}

function print(out: Context['out'], view: TopView): void {
  if (out.isJson) return out.json(view, { many: true })
  // Figures of an earlier look would be taken for those of now.
  if (view.outage !== undefined) return out.note(view.outage)
  const { types, workers, rates, now } = view
  const sum = (of: (type: TopView['types'][number]) => number): number => types.reduce((all, type) => all + of(type), 0)
  out.line(
    [
      `${clockText(now)}Z`,
      `completed ${(rates.completed.at(-1) ?? 0).toFixed(1)}/s`,
      `waiting ${sum(waitingOf)}`,
      `running ${sum(({ states }) => states.processing)}`,
      `failed ${sum(({ states }) => states.failed)}`,
      `workers ${workers.length}`,
    ].join('  '),
  )
  if (view.message !== undefined) out.note(view.message)
}
