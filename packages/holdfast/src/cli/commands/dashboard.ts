import { command } from '../command.ts'
import { loadDashboard } from '../load-dashboard.ts'
import { serveDashboard } from '../serve-dashboard.ts'
import { UsageError } from '../usage-error.ts'

export const dashboard = command({
  name: 'dashboard',
  summary: 'serve the dashboard on this machine until SIGINT or SIGTERM',
  details: [
    'It needs the package @holdfast/dashboard, listens on 127.0.0.1 only, and prints a link that opens it once, in one browser.',
    'For other people, mount the dashboard in a server of yours, with authorize.',
  ],
  options: {
    port: { kind: 'integer', placeholder: 'port', summary: 'port; default: a free one' },
    'read-only': { kind: 'flag', summary: 'look only: nothing can be changed' },
  },
  examples: [
    { line: 'holdfast dashboard --url sqlite:./jobs.db', does: 'the jobs of a file' },
    { line: 'holdfast dashboard --port 8080 --read-only', does: 'the storage of holdfast.config.ts, to look at' },
  ],
  async run({ storage, options, out, host }) {
    const { port = 0 } = options
    if (port < 0 || port > 65_535) throw new UsageError('--port: expected 0 … 65535.')
    const loaded = await loadDashboard(host.cwd)
    const ended = host.interruption()
    const served = await serveDashboard({
      storage: await storage(),
      dashboard: loaded,
      port,
      actor: options.by ?? host.user() ?? 'operator',
      isReadOnly: options['read-only'] ?? false,
    })
    try {
      if (out.isJson) out.json({ url: served.url })
      else {
        out.line(served.url)
        out.note('The link works once. Ctrl-C ends the dashboard.')
      }
      if (!ended.aborted) await new Promise((resolve) => ended.addEventListener('abort', resolve, { once: true }))
    } finally {
      await served.close()
    }
    return 0
  },
})
