// node --conditions=@holdfast/source examples/chains/scheduled-loop.ts
//
// A recurring job whose next run depends on this one. For times of a calendar, a schedule is simpler: docs/schedules.md.
// Each run continues with the next one, an hour later. The loop is one chain, so at most one run is under way; the
// next job is written in the move that ends the last, so the loop cannot break between two. The hours pass on a fake clock.

import { MemoryStorage } from 'holdfast'
import { createClient, createInProcessWorker, defineJobTypes } from 'holdfast/chains'
import { fakeClock } from 'holdfast/testing'

const hourMs = 3_600_000
const clock = fakeClock()
const storage = new MemoryStorage({ clock })
const jobTypeRegistry = defineJobTypes<{
  tidy: { entry: true; input: { round: number; dueAt: number }; output: string; continueWith: { typeName: 'tidy' } }
}>()
const client = await createClient({ storage, jobTypeRegistry, clock })
const startedAt = clock.now()
const ran: string[] = []

const worker = await createInProcessWorker({
  storage,
  jobTypeRegistry,
  clock,
  backoff: { type: 'fixed', delayMs: 60_000 },
  jobTypeProcessors: {
    tidy: {
      process: async ({ job, complete }) => {
        const { round, dueAt } = job.input
        ran.push(`round ${round}, attempt ${job.attempt}, after ${(clock.now() - startedAt) / 60_000} min`)
        // A failure delays its round. Later rounds keep their times: these follow from dueAt, not from now.
        if (round === 2 && job.attempt === 1) throw new Error('the broom is broken')
        return complete(async ({ continueWith }) => {
          if (round === 4) return 'all is tidy'
          const next = dueAt + hourMs
          return continueWith({ typeName: 'tidy', input: { round: round + 1, dueAt: next }, runAt: next })
        })
      },
    },
  },
})
await worker.start()

// Every process may start it: the key keeps it to one loop until that ends.
const start = () =>
  client.startJobChain({
    typeName: 'tidy',
    input: { round: 1, dueAt: startedAt },
    deduplication: { key: 'the one tidy loop' },
  })
const [loop, again] = [await start(), await start()]
console.log(`started twice, one loop: ${again.deduplicated && again.id === loop.id}`)

const completed = client.waitForJobChainCompletion(loop, { timeoutMs: 24 * hourMs })
await clock.advance(4 * hourMs)
console.log((await completed).output)
for (const line of ran) console.log(line)
await worker.stop()
await client.close()
