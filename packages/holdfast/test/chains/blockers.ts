// Blockers: chains that must complete before a job may run (specs/chains.md 3.2).

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { defineJobTypes, type JobTypeProcessor, type JobTypeProcessors, type StartItem } from 'holdfast/chains'
import { type ClaimRequest, type NewJob, type Outcome } from 'holdfast/storage'
import { gate, until } from '../queue/driver.ts'
import { chainBench, wait } from './bench.ts'
import type { ChainDriver } from './driver.ts'
import { sizeOf } from '../full-size.ts'

interface Types {
  part: { entry: true; input: number; output: number }
  pair: { entry: true; input: null; output: number; blockers: [{ typeName: 'part' }, { typeName: 'part' }] }
  many: { entry: true; input: string; output: number[]; blockers: { typeName: 'part' | 'pair' }[] }
  begin: { entry: true; input: null; continueWith: { typeName: 'join' } }
  join: { input: null; output: number[]; blockers: { typeName: 'part' | 'begin' }[] }
}
const types = defineJobTypes<Types>()

const double: JobTypeProcessor<Types, 'part', unknown> = {
  process: async ({ job, complete }) => complete(job.input * 2),
}

/** A barrier: the first arrival of each party resolves when all have arrived; later arrivals do not wait. */
class Barrier {
  readonly #missing: Set<string>
  readonly #complete = gate()

  constructor(...parties: readonly string[]) {
    this.#missing = new Set(parties)
  }

  arrive(party: string): Promise<unknown> {
    this.#missing.delete(party)
    if (this.#missing.size === 0) this.#complete.resolve()
    return this.#complete.promise
  }
}

export function blockerTests(driver: ChainDriver): void {
  describe('blockers', () => {
    test('chains of startBlockers are written with the job, in one move, under it', async (t) => {
      const { client, line, work } = await chainBench(t, driver, types)
      const adds = line.count('add')
      let jobId = ''
      const pair = await client.startJobChain({
        typeName: 'pair',
        input: null,
        startBlockers: async ({ job, startJobChain }) => {
          jobId = job.id
          const parts = [
            await startJobChain({ typeName: 'part', input: 1 }),
            await startJobChain({ typeName: 'part', input: 2 }),
          ] as const
          assert.equal(line.count('add'), adds)
          assert.equal(await client.getJobChain(parts[0]), null)
          return parts
        },
      })
      assert.equal(line.count('add'), adds + 1)
      assert.deepEqual([pair.id, pair.state], [jobId, 'blocked'])
      const { items } = await client.listJobChains({ filter: { typeName: ['part'] }, orderDirection: 'asc' })
      assert.deepEqual(
        items.map(({ rootChainId, originId, state }) => [rootChainId, originId, state]),
        [
          [pair.id, pair.id, 'queued'],
          [pair.id, pair.id, 'queued'],
        ],
      )
      assert.equal((await client.listJobChains({ filter: { rootOnly: true } })).items.length, 1)
      await work({
        part: double,
        pair: { process: async ({ job, complete }) => complete(100 * job.blockers[0].output + job.blockers[1].output) },
      })
      assert.equal((await client.waitForJobChainCompletion(pair, wait)).output, 204)
    })

    test('existing chains: completed ones do not block, a missing one refuses the start', async (t) => {
      const { client, work } = await chainBench(t, driver, types)
      const stop = await work({ part: double })
      const [one, two] = await client.startJobChains({
        items: [
          { typeName: 'part', input: 1 },
          { typeName: 'part', input: 2 },
        ],
      })
      await Promise.all([one, two].map((chain) => client.waitForJobChainCompletion(chain, wait)))
      await stop()
      const done = await client.startJobChain({ typeName: 'pair', input: null, blockers: [two, one] })
      assert.equal(done.state, 'queued')
      const job = await client.getJob({ typeName: 'pair', id: done.id })
      assert.deepEqual(
        job!.blockers.map(({ id }) => id),
        [two.id, one.id],
      )
      const missing = client.startJobChain({
        typeName: 'pair',
        input: null,
        blockers: [one, { typeName: 'part', id: 'missing' }],
      })
      await assert.rejects(missing, { code: 'BLOCKER_NOT_FOUND', blocker: { typeName: 'part', id: 'missing' } })
      assert.equal((await client.listJobChains({ filter: { typeName: ['pair'] } })).items.length, 1)
    })

    test('a duplicate adds none of its blockers, and calls no startBlockers if it is known before', async (t) => {
      const { client, told } = await chainBench(t, driver, types)
      let asked = 0
      const start = (by: { deduplication: { key: string } } | { id: string }) =>
        client.startJobChain({
          typeName: 'many',
          input: 'x',
          ...by,
          startBlockers: async ({ startJobChain }) => {
            asked++
            return [await startJobChain({ typeName: 'part', input: 1 })]
          },
        })
      // Concurrent: none is known to be a duplicate beforehand.
      const together = await Promise.all([1, 2, 3].map(() => start({ deduplication: { key: 'k' } })))
      assert.equal(together.filter(({ deduplicated }) => !deduplicated).length, 1)
      const [first] = together
      assert.ok(together.every(({ id }) => id === first!.id))
      const before = asked
      for (const by of [{ deduplication: { key: 'k' } }, { id: first!.id }]) {
        const again = await start(by)
        assert.deepEqual([again.deduplicated, again.id, asked], [true, first!.id, before])
      }
      assert.equal(told('jobDeduplicated').length, 4)
      const mixed = await client.startJobChains({
        items: [
          { typeName: 'many', input: 'new', startBlockers: async () => [] },
          {
            typeName: 'many',
            input: 'x',
            deduplication: { key: 'k' },
            startBlockers: async () => assert.fail('asked'),
          },
        ],
      })
      assert.deepEqual(
        mixed.map(({ deduplicated, input }) => [deduplicated, input]),
        [
          [false, 'new'],
          [true, 'x'],
        ],
      )
      assert.equal((await client.listJobChains({ filter: { typeName: ['part'] } })).items.length, 1)
    })

    test('blockers of blockers: one tree, one root', async (t) => {
      const { client, line, work } = await chainBench(t, driver, types)
      const adds = line.count('add')
      const top = await client.startJobChain({
        typeName: 'many',
        input: 'top',
        startBlockers: async ({ startJobChain }) =>
          Promise.all([
            startJobChain({
              typeName: 'pair',
              input: null,
              startBlockers: async (inner) =>
                Promise.all([
                  inner.startJobChain({ typeName: 'part', input: 1 }),
                  inner.startJobChain({ typeName: 'part', input: 2 }),
                ]),
            }),
            startJobChain({ typeName: 'part', input: 3 }),
          ]),
      })
      assert.equal(line.count('add'), adds + 1)
      const { items } = await client.listJobChains()
      assert.equal(items.length, 5)
      assert.ok(items.every(({ rootChainId }) => rootChainId === top.id))
      await work({
        part: double,
        pair: { process: async ({ job, complete }) => complete(job.blockers[0].output + job.blockers[1].output) },
        many: { process: async ({ job, complete }) => complete(job.blockers.map(({ output }) => output)) },
      })
      assert.deepEqual((await client.waitForJobChainCompletion(top, wait)).output, [6, 6])
    })

    test('a chain that startBlockers starts and does not return is refused, and so are too many', async (t) => {
      const { client } = await chainBench(t, driver, types)
      const lost = client.startJobChain({
        typeName: 'many',
        input: 'x',
        startBlockers: async ({ startJobChain }) => {
          await startJobChain({ typeName: 'part', input: 1 })
          return []
        },
      })
      await assert.rejects(lost, { code: 'INVALID_BLOCKERS', typeName: 'many' })
      const blockers = Array.from({ length: 1_001 }, (_, index) => ({ typeName: 'part', id: `p${index}` }) as const)
      const many = client.startJobChain({ typeName: 'many', input: 'x', blockers })
      await assert.rejects(many, { code: 'TOO_MANY_BLOCKERS', count: 1_001, limit: 1_000 })
      const boom = new Error('boom')
      const thrown = client.startJobChain({
        typeName: 'many',
        input: 'x',
        startBlockers: async () => {
          throw boom
        },
      })
      await assert.rejects(thrown, boom)
      assert.deepEqual((await client.listJobChains()).items, [])
    })

    test('a blocked job with a schedule runs at the later of the two', async (t) => {
      const { client, work } = await chainBench(t, driver, types)
      await work({ part: double })
      const many = await client.startJobChain({
        typeName: 'many',
        input: 'x',
        schedule: { afterMs: 3_600_000 },
        startBlockers: async ({ startJobChain }) => [await startJobChain({ typeName: 'part', input: 1 })],
      })
      assert.equal(many.state, 'blocked')
      await until(async () => (await client.getJobChain(many))!.state === 'scheduled')
      const job = await client.getJob({ typeName: 'many', id: many.id })
      assert.equal(job!.runAt, job!.createdAt + 3_600_000)
    })

    test('a continuation may have blockers, which are written with it; its own chain is refused', async (t) => {
      const { client, work } = await chainBench(t, driver, types)
      const errors: unknown[] = []
      await work({
        part: double,
        begin: {
          process: async ({ job, complete }) =>
            complete(async ({ continueWith }) => {
              if (job.failures === 0) {
                const own = continueWith({
                  typeName: 'join',
                  input: null,
                  blockers: [{ typeName: 'begin', id: job.id }],
                })
                await own.catch((error: unknown) => {
                  errors.push(error)
                  throw error
                })
              }
              return continueWith({
                typeName: 'join',
                input: null,
                startBlockers: async ({ startJobChain }) =>
                  Promise.all([1, 2, 3].map((input) => startJobChain({ typeName: 'part', input }))),
              })
            }),
        },
        join: { process: async ({ job, complete }) => complete(job.blockers.map(({ output }) => output as number)) },
      })
      const chain = await client.startJobChain({ typeName: 'begin', input: null })
      assert.deepEqual((await client.waitForJobChainCompletion(chain, wait)).output, [2, 4, 6])
      assert.equal((errors[0] as { code: string }).code, 'BLOCKER_OWN_CHAIN')
      const parts = (await client.listJobChains({ filter: { typeName: ['part'] } })).items
      const join = (await client.listJobs({ filter: { typeName: ['join'] } })).items[0]!
      assert.ok(parts.every(({ rootChainId, originId }) => rootChainId === chain.id && originId === join.id))
    })

    test('[chains trap 22] two slots with one chain: the job runs once the chain ends, and has it twice', async (t) => {
      const { client, work } = await chainBench(t, driver, types)
      await work({
        part: double,
        pair: { process: async ({ job, complete }) => complete(job.blockers[0].output + job.blockers[1].output) },
      })
      const deduplication = { key: 'same' }
      const pair = await client.startJobChain({
        typeName: 'pair',
        input: null,
        startBlockers: async ({ startJobChain }) => [
          await startJobChain({ typeName: 'part', input: 4, deduplication }),
          await startJobChain({ typeName: 'part', input: 5, deduplication }),
        ],
      })
      assert.equal((await client.waitForJobChainCompletion(pair, wait)).output, 16)
      assert.equal((await client.listJobChains({ filter: { typeName: ['part'] } })).items.length, 1)
    })

    test('[chains trap 23] a failed blocker fails its dependents and theirs, and ends the waits for them', async (t) => {
      const { client, work } = await chainBench(t, driver, types)
      const part = await client.startJobChain({ typeName: 'part', input: 1 })
      const fine = await client.startJobChain({ typeName: 'part', input: 2, schedule: { afterMs: 3_600_000 } })
      const pair = await client.startJobChain({ typeName: 'pair', input: null, blockers: [part, fine] })
      const top = await client.startJobChain({ typeName: 'many', input: 'x', blockers: [pair] })
      const told = Promise.allSettled([pair, top].map((chain) => client.waitForJobChainCompletion(chain, wait)))
      await work({
        part: {
          process: async () => {
            throw new Error('broken')
          },
          retryConfig: { maxAttempts: 1 },
        },
      })
      for (const result of await told) {
        assert.ok(result.status === 'rejected')
        assert.equal(result.reason.code, 'CHAIN_FAILED')
        assert.equal(result.reason.details.code, 'BLOCKER_FAILED')
      }
      const job = await client.getJob({ typeName: 'pair', id: pair.id })
      assert.ok(job!.state === 'failed' && job!.error.code === 'BLOCKER_FAILED')
    })

    test('[chains trap 23] with onBlockerFailure wait the job stays blocked until the triggered blocker completes', async (t) => {
      const { client, work } = await chainBench(t, driver, types)
      let broken = true
      const many = await client.startJobChain({
        typeName: 'many',
        input: 'x',
        onBlockerFailure: 'wait',
        startBlockers: async ({ startJobChain }) => [await startJobChain({ typeName: 'part', input: 7 })],
      })
      await work({
        part: {
          process: async ({ job, complete }) => {
            if (broken) throw new Error('broken')
            return complete(job.input)
          },
          retryConfig: { maxAttempts: 1 },
        },
        many: { process: async ({ job, complete }) => complete(job.blockers.map(({ output }) => output)) },
      })
      const [part] = (await client.listJobChains({ filter: { typeName: ['part'] } })).items
      await assert.rejects(client.waitForJobChainCompletion(part!, wait), { code: 'CHAIN_FAILED' })
      assert.equal((await client.getJobChain(many))!.state, 'blocked')
      broken = false
      const triggered = await client.triggerJob({ typeName: 'part', id: part!.id })
      assert.equal(triggered.failures, 0)
      assert.deepEqual((await client.waitForJobChainCompletion(many, wait)).output, [7])
    })

    test('[chains trap 24] a chain that a handler starts is its own root, and is not deleted with the other', async (t) => {
      const { client, work } = await chainBench(t, driver, types)
      let started = ''
      await work({
        part: {
          process: async ({ job, complete }) => {
            if (job.input === 1) started = (await client.startJobChain({ typeName: 'part', input: 2 })).id
            return complete(0)
          },
        },
      })
      const outer = await client.startJobChain({ typeName: 'part', input: 1 })
      await client.waitForJobChainCompletion(outer, wait)
      const inner = await client.waitForJobChainCompletion({ typeName: 'part', id: started }, wait)
      assert.deepEqual([inner.rootChainId, inner.originId], [started, null])
      await client.deleteJobChains({ rootChainIds: [outer] })
      assert.equal(await client.getJobChain(outer), null)
      assert.equal((await client.getJobChain(inner))!.state, 'completed')
    })

    test('[chains trap 2] a blocker that ends while its dependent is added is not missed', async (t) => {
      const { client, work, line } = await chainBench(t, driver, types)
      // A barrier: neither the add of a dependent nor the settle of its blocker goes on before both are about to.
      let barrier = new Barrier('add', 'settle')
      const settling = (outcomes: readonly Outcome[] = []): Promise<unknown> | undefined =>
        outcomes.some(({ type }) => type === 'chain.part') ? barrier.arrive('settle') : undefined
      line.on('add', async (apply, { args: [jobs] }) => {
        if ((jobs as NewJob[])[0]!.blockers) await barrier.arrive('add')
        return apply()
      })
      line.on('claim', async (apply, { args: [request] }) => {
        await settling((request as ClaimRequest).outcomes)
        return apply()
      })
      line.on('settle', async (apply, { args: [outcomes] }) => {
        await settling(outcomes as Outcome[])
        return apply()
      })
      await work(
        {
          part: double,
          many: { process: async ({ job, complete }) => complete(job.blockers.map(({ output }) => output)) },
        },
        { concurrency: 5 },
      )
      const rounds = sizeOf(200, driver.name, { file: 15, memory: 60, else: 15 })
      for (let round = 0; round < rounds; round++) {
        barrier = new Barrier('add', 'settle')
        const part = await client.startJobChain({ typeName: 'part', input: round })
        const both = await Promise.all([
          client.startJobChain({ typeName: 'many', input: 'x', blockers: [part] }),
          client.waitForJobChainCompletion(part, wait),
        ])
        assert.deepEqual((await client.waitForJobChainCompletion(both[0], wait)).output, [2 * round])
      }
      assert.ok(line.count('add') >= 2 * rounds)
    })

    // Frequent reads of so many chains would be most of the load.
    const rarely = driver.hints === false ? wait : { pollIntervalMs: 5_000 }
    for (const workers of [1, 4]) {
      const count = sizeOf(500, driver.name, { file: 40, memory: 300, else: 60 })
      test(`[chains trap 1] ${count} dependents of 2 blockers, ${workers} workers: none is stranded`, async (t) => {
        const { client, work } = await chainBench(t, driver, types)
        const begun = gate()
        const processors: JobTypeProcessors<Types, unknown> = {
          part: {
            process: async ({ complete }) => {
              await begun.promise
              return complete(1)
            },
          },
          pair: { process: async ({ complete }) => complete(2) },
        }
        for (let index = 0; index < workers; index++) await work(processors, { concurrency: 10 })
        const pairs = []
        for (let start = 0; start < count; start += 50) {
          const items = Array.from({ length: Math.min(50, count - start) }, (): StartItem<Types, 'pair', unknown> => ({
            typeName: 'pair',
            input: null,
            startBlockers: async ({ startJobChain }) => [
              await startJobChain({ typeName: 'part', input: 1 }),
              await startJobChain({ typeName: 'part', input: 2 }),
            ],
          }))
          pairs.push(...(await client.startJobChains({ items })))
        }
        begun.resolve()
        const ended = await Promise.all(
          pairs.map((pair) => client.waitForJobChainCompletion(pair, { ...rarely, timeoutMs: 60_000 })),
        )
        assert.ok(ended.length === count && ended.every(({ output }) => output === 2))
        assert.deepEqual((await client.listJobs({ filter: { state: ['blocked'] } })).items, [])
      })
    }
  })
}
