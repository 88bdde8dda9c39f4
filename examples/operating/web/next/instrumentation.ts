// instrumentation.ts of a Next.js app: Next calls register() once, when its server starts. Run Next with NEXT_MANUAL_SIG_HANDLE=true:
// otherwise it exits when its server has closed, and does not wait for jobs.

export async function register(): Promise<void> {
  if (process.env.NEXT_RUNTIME !== 'nodejs') return // not in the edge runtime
  const { queue } = await import('./queue.ts')
  await queue.start()
  process.once('SIGTERM', async () => {
    await queue.stop({ graceMs: 20_000 })
    process.exit()
  })
}
