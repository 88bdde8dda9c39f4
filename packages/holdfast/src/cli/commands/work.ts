import { asError } from '../../error-details.ts'
import { command, type Context } from '../command.ts'
import { type ConfiguredWorker, resolveConfig } from '../config.ts'
import { serveHealth } from '../serve-health.ts'
import { UsageError } from '../usage-error.ts'

export const work = command({
  name: 'work',
  summary: 'run the workers of the configuration until SIGINT or SIGTERM',
  details: [
    'At the signal no new job is taken, and running ones go on for --grace. What is unfinished then is released and costs no attempt. A second signal ends the process at once.',
    'With --health-port, /live and /ready answer health checks over HTTP.',
  ],
  options: {
    grace: {
      kind: 'duration',
      summary: 'how long running jobs may go on; default: graceMs of the configuration, else 30s',
    },
    'health-port': { kind: 'integer', placeholder: 'port', summary: 'port of the health checks, 0 for a free one' },
    'health-host': {
      kind: 'text',
      placeholder: 'address',
      summary: 'address of the health checks; default: 127.0.0.1',
    },
  },
  examples: [
    { line: 'holdfast work --grace 20s --health-port 0', does: 'the workers of holdfast.config.ts' },
    { line: 'holdfast work --health-port 8080 --health-host 0.0.0.0', does: 'in a container' },
  ],
  async run({ config, options, out, host }) {
    if (options.url !== undefined)
      throw new UsageError('the workers are those of a configuration: pass --config, not --url.')
    const found = await config()
    if (!found) throw new UsageError('there is no configuration file. Write a holdfast.config.ts, or pass --config.')
    const { workers, graceMs, healthPort, healthHost } = resolveConfig(found)
    if (workers.length === 0) throw new UsageError('the configuration has no workers.')
    // Before the start: a signal that comes meanwhile ends it, too.
    const signal = host.interruption()
    const port = options['health-port'] ?? healthPort
    const health =
      port === undefined ? undefined : await serveHealth(workers, port, options['health-host'] ?? healthHost)
    if (health) say(out, 'health', { url: health.url })
    const stop = (): Promise<unknown> => stopAll(workers, options.grace ?? graceMs, out)
    try {
      await startAll(workers, signal, out)
      if (!signal.aborted) await aborted(signal)
      say(out, 'stopping', {})
    } finally {
      await stop()
      await health?.close()
    }
    say(out, 'stopped', {})
    return 0
  },
})

/** @throws what a start rejects with: one that cannot pass */
async function startAll(workers: readonly ConfiguredWorker[], signal: AbortSignal, out: Context['out']): Promise<void> {
  const starts = workers.map(async (worker) => {
    await worker.start()
    if (!signal.aborted) say(out, 'ready', { worker: (await worker.health()).name })
  })
  // A start retries until the storage answers: the signal must not wait for it.
  await Promise.race([Promise.all(starts), aborted(signal)])
  for (const start of starts) start.catch(() => {})
}

async function stopAll(workers: readonly ConfiguredWorker[], graceMs: number, out: Context['out']): Promise<void> {
  const ends = await Promise.allSettled(workers.map((worker) => worker.stop({ graceMs })))
  for (const end of ends)
    if (end.status === 'rejected') out.note(`A worker did not stop: ${asError(end.reason).message}`)
}

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })

function say(out: Context['out'], event: string, data: Readonly<Record<string, string>>): void {
  if (out.isJson) out.json({ event, ...data }, { many: true })
  else out.line([event, ...Object.values(data)].join('  '))
}
