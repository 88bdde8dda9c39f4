// Rows of the user's and jobs in one transaction (specs/chains.md 3.1, 3.3), where the storage has transactions.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Storage } from 'holdfast'
import { defineJobTypes } from 'holdfast/chains'
import { gate, sleep, until } from '../queue/driver.ts'
import { failing, losingAnswers } from '../queue/faulty-storage.ts'
import { type ChainBench, chainBench, wait } from './bench.ts'
import type { ChainDriver } from './driver.ts'

interface Types {
  order: { entry: true; input: string; output: string; continueWith: { typeName: 'ship' } }
  ship: { input: string; output: string }
}
const types = defineJobTypes<Types>()

/** A transaction of the user's. */
const inTransaction = <R>(storage: Storage, run: (tx: unknown) => Promise<R>): Promise<R> => storage.transaction!(run)

const start = (bench: ChainBench<Types>, input = 'a', tx?: unknown) =>
  bench.client.startJobChain({ typeName: 'order', input, tx })

/** For `complete`: writes a row that names the attempt, and returns the same as the output. */
const ownRow =
  ({ rows }: ChainBench<Types>, { attempt }: { readonly attempt: number }) =>
  async ({ tx }: { readonly tx: unknown }): Promise<string> => {
    await rows.add(tx, `by ${attempt}`)
    return `by ${attempt}`
  }

export function transactionTests(driver: ChainDriver): void {
  const skip = driver.name === 'sqlite' || driver.name.startsWith('postgres') ? false : 'features.transactions is false'

  describe('transactions', { skip }, () => {
    test('a start commits with the rows of its transaction, or does not exist', async (t) => {
      const bench = await chainBench(t, driver, types)
      const { client, storage, rows } = bench
      let id = ''
      await inTransaction(storage, async (tx) => {
        await rows.add(tx, 'a')
        const chain = await start(bench, 'a', tx)
        id = chain.id
        assert.equal(await client.getJobChain({ typeName: 'order', id }), null)
        assert.equal((await client.getJobChain({ typeName: 'order', id, tx }))!.state, 'queued')
      })
      assert.equal((await client.getJobChain({ typeName: 'order', id }))!.state, 'queued')
      const boom = new Error('boom')
      await assert.rejects(
        inTransaction(storage, async (tx) => {
          await rows.add(tx, 'b')
          await start(bench, 'b', tx)
          throw boom
        }),
        boom,
      )
      assert.deepEqual(await rows.ids(), ['a'])
      assert.equal((await client.listJobChains()).items.length, 1)
    })

    test('atomic: prepare and complete have one transaction, and nothing of it is visible before the end', async (t) => {
      const bench = await chainBench(t, driver, types)
      const { client, rows, work } = bench
      const seen: unknown[] = []
      await work({
        order: {
          process: async ({ job, prepare, complete }) => {
            const before = await prepare({ mode: 'atomic' }, async ({ tx }) => {
              await rows.add(tx, `prepared ${job.input}`)
              return tx
            })
            seen.push(await rows.ids())
            return complete(async ({ tx }) => {
              assert.equal(tx, before)
              await rows.add(tx, `completed ${job.input}`)
              return 'done'
            })
          },
        },
      })
      await client.waitForJobChainCompletion(await start(bench), wait)
      assert.deepEqual(seen, [[]])
      assert.deepEqual(await rows.ids(), ['completed a', 'prepared a'])
    })

    test('[chains trap 10] atomic: if the handler throws, none of its rows are there', async (t) => {
      const bench = await chainBench(t, driver, types)
      const { client, rows, work } = bench
      await work({
        order: {
          process: async ({ job, prepare, complete }) => {
            await prepare({ mode: 'atomic' }, async ({ tx }) => rows.add(tx, `prepared by ${job.attempt}`))
            if (job.attempt === 1) throw new Error('between')
            const completion = await complete(async ({ tx }) => {
              await rows.add(tx, `completed by ${job.attempt}`)
              return 'done'
            })
            if (job.attempt === 2) throw new Error('after')
            return completion
          },
        },
      })
      await client.waitForJobChainCompletion(await start(bench), wait)
      assert.deepEqual(await rows.ids(), ['completed by 3', 'prepared by 3'])
    })

    test('staged: rows of prepare stay, rows of complete are rolled back by a failure', async (t) => {
      const bench = await chainBench(t, driver, types)
      const { client, rows, work } = bench
      await work({
        order: {
          process: async ({ job, prepare, complete }) => {
            await prepare({ mode: 'staged' }, async ({ tx }) => rows.add(tx, `prepared by ${job.attempt}`))
            assert.ok((await rows.ids()).includes(`prepared by ${job.attempt}`))
            const completion = await complete(async ({ tx }) => {
              await rows.add(tx, `completed by ${job.attempt}`)
              return 'done'
            })
            if (job.attempt === 1) throw new Error('after')
            return completion
          },
        },
      })
      await client.waitForJobChainCompletion(await start(bench), wait)
      assert.deepEqual(await rows.ids(), ['completed by 2', 'prepared by 1', 'prepared by 2'])
    })

    test('a staged prepare that throws leaves nothing, and the attempt may go on', async (t) => {
      const bench = await chainBench(t, driver, types)
      const { client, rows, work } = bench
      await work({
        order: {
          process: async ({ prepare, complete }) => {
            const prepared = prepare({ mode: 'staged' }, async ({ tx }) => {
              await rows.add(tx, 'prepared')
              throw new Error('no')
            })
            await assert.rejects(prepared, /no/)
            return complete('done anyway')
          },
        },
      })
      const done = await client.waitForJobChainCompletion(await start(bench), wait)
      assert.deepEqual([done.output, await rows.ids()], ['done anyway', []])
    })

    test('after an atomic prepare that throws, the attempt fails whatever the handler completes with', async (t) => {
      const bench = await chainBench(t, driver, types)
      const { client, rows, work } = bench
      const errors: unknown[] = []
      await work({
        order: {
          process: async ({ job, prepare, complete }) => {
            const prepared = prepare({ mode: 'atomic' }, async ({ tx }) => {
              await rows.add(tx, `by ${job.attempt}`)
              if (job.attempt === 1) throw new Error('no')
            })
            await prepared.catch(() => {})
            return complete('done').catch((error: unknown) => {
              errors.push((error as Error).message)
              return {} as never
            })
          },
        },
      })
      const done = await client.waitForJobChainCompletion(await start(bench), wait)
      assert.deepEqual([done.output, errors, await rows.ids()], ['done', ['no'], ['by 2']])
    })

    test('complete(output) after an atomic prepare ends in its transaction', async (t) => {
      const bench = await chainBench(t, driver, types)
      const { client, rows, work } = bench
      await work({
        order: {
          process: async ({ prepare, complete }) => {
            await prepare({ mode: 'atomic' }, async ({ tx }) => rows.add(tx, 'prepared'))
            return complete('done')
          },
        },
      })
      await client.waitForJobChainCompletion(await start(bench), wait)
      assert.deepEqual(await rows.ids(), ['prepared'])
    })

    test('a continuation and the chains that a handler starts commit with its rows', async (t) => {
      const bench = await chainBench(t, driver, types)
      const { client, rows, work, told } = bench
      await work(
        {
          order: {
            process: async ({ job, complete }) => {
              if (job.input === 'side') return complete('side')
              const completion = await complete(async ({ continueWith, tx }) => {
                await rows.add(tx, `by ${job.attempt}`)
                await client.startJobChain({ typeName: 'order', input: 'side', tx })
                return continueWith({ typeName: 'ship', input: 'x' })
              })
              assert.equal(told('jobChainCreated').length, 1)
              if (job.attempt === 1) throw new Error('after')
              return completion
            },
          },
          ship: { process: async ({ complete }) => complete('shipped') },
        },
        { concurrency: 3 },
      )
      const done = await client.waitForJobChainCompletion(await start(bench), wait)
      assert.deepEqual([done.output, await rows.ids()], ['shipped', ['by 2']])
      const { items } = await client.listJobs()
      assert.deepEqual(items.map(({ typeName, input }) => `${typeName} ${input}`).toSorted(), [
        'order a',
        'order side',
        'ship x',
      ])
      assert.equal(told('jobChainCreated').length, 2)
      assert.ok(told('jobChainCreated').every(({ committed }) => committed === undefined))
    })

    test('{ tx: false }: a callback without a transaction', async (t) => {
      const bench = await chainBench(t, driver, types)
      const { client, work, line } = bench
      await work({
        order: {
          process: async ({ complete }) =>
            complete(
              async (context) => {
                assert.deepEqual(Object.keys(context), ['continueWith'])
                return 'done'
              },
              { tx: false },
            ),
        },
      })
      await client.waitForJobChainCompletion(await start(bench), wait)
      assert.equal(line.count('transaction'), 0)
    })

    test('the answer to a commit is lost: completed once, with its rows', async (t) => {
      const bench = await chainBench(t, driver, types)
      const { client, rows, work, line, told } = bench
      line.on('transaction', losingAnswers(1))
      await work({
        order: {
          process: async ({ job, complete }) => complete(ownRow(bench, job)),
        },
      })
      const done = await client.waitForJobChainCompletion(await start(bench), wait)
      await until(() => told('jobCompleted').length === 1)
      assert.deepEqual([done.output, await rows.ids()], ['by 1', ['by 1']])
      const job = await client.getJob({ typeName: 'order', id: done.id })
      assert.deepEqual([job!.failures, job!.attempt, told('jobAttemptFailed')], [0, 1, []])
    })

    test('a transaction that cannot begin: the attempt is tried again, and its rows are there once', async (t) => {
      const bench = await chainBench(t, driver, types)
      const { client, rows, work, line } = bench
      line.on('transaction', failing(1))
      await work({
        order: {
          process: async ({ job, complete }) => complete(ownRow(bench, job)),
        },
      })
      await client.waitForJobChainCompletion(await start(bench), wait)
      assert.deepEqual(await rows.ids(), ['by 2'])
    })

    test('many attempts with transactions: they wait for slots, and each ends once', async (t) => {
      const bench = await chainBench(t, driver, types)
      const { client, rows, work } = bench
      await work(
        {
          order: {
            process: async ({ job, prepare, complete }) => {
              await prepare({ mode: 'atomic' }, async ({ tx }) => rows.add(tx, `p ${job.input}`))
              await sleep(2)
              return complete(async ({ tx }) => {
                await rows.add(tx, `c ${job.input}`)
                return 'done'
              })
            },
          },
        },
        { concurrency: 10 },
      )
      const names = Array.from({ length: 40 }, (_, index) => `${index}`)
      const chains = await Promise.all(names.map((name) => start(bench, name)))
      await Promise.all(chains.map((chain) => client.waitForJobChainCompletion(chain, wait)))
      assert.deepEqual(
        await rows.ids(),
        [...names.map((name) => `c ${name}`), ...names.map((name) => `p ${name}`)].toSorted(),
      )
      const { items } = await client.listJobs()
      assert.ok(items.every(({ attempt, failures }) => attempt === 1 && failures === 0))
    })

    test('a timeout in the callback of complete rolls it back, and the next attempt does not wait for it', async (t) => {
      const bench = await chainBench(t, driver, types)
      const { client, rows, work } = bench
      let attempts = 0
      await work({
        order: {
          timeoutMs: 200,
          process: async ({ job, complete }) => {
            attempts = job.attempt
            return complete(async ({ tx }) => {
              await rows.add(tx, `by ${job.attempt}`)
              if (job.attempt === 1) await new Promise(() => {})
              return 'done'
            })
          },
        },
      })
      await client.waitForJobChainCompletion(await start(bench), wait)
      assert.ok(attempts > 1)
      // On a busy machine a later attempt may time out too.
      assert.deepEqual(await rows.ids(), [`by ${attempts}`])
    })

    test('a timeout while the outcome is written has no effect', async (t) => {
      const bench = await chainBench(t, driver, types)
      const { client, rows, work, line } = bench
      line.on('settle', async (apply) => {
        await sleep(800)
        return apply()
      })
      await work({
        order: {
          // Enough for the steps before the settle, also on a busy machine.
          timeoutMs: 700,
          process: async ({ job, complete }) => complete(ownRow(bench, job)),
        },
      })
      await client.waitForJobChainCompletion(await start(bench), wait)
      assert.deepEqual(await rows.ids(), ['by 1'])
    })

    test('a stop that does not wait rolls back what is open, and releases the job', async (t) => {
      const bench = await chainBench(t, driver, types)
      const { client, rows, work } = bench
      const running = gate()
      const stop = await work({
        order: {
          process: async ({ prepare, complete }) => {
            await prepare({ mode: 'atomic' }, async ({ tx }) => rows.add(tx, 'never'))
            running.resolve()
            await new Promise(() => {})
            return complete('never')
          },
        },
      })
      const chain = await start(bench)
      await running.promise
      await stop({ graceMs: 10, deadlineMs: 20 })
      const job = await client.getJob({ typeName: 'order', id: chain.id })
      assert.deepEqual([job!.state, job!.failures, await rows.ids()], ['queued', 0, []])
    })

    test('completeJobChain: rows and completion together, in its own transaction or a given one', async (t) => {
      const bench = await chainBench(t, driver, types)
      const { client, storage, rows } = bench
      const end = (id: string, tx?: unknown, fails = false) =>
        client.completeJobChain({
          typeName: 'order',
          id,
          tx,
          complete: async ({ job, complete, tx: own }) => {
            assert.ok(job.typeName === 'order')
            await rows.add(own, id)
            const next = await complete(job, async ({ continueWith }) => continueWith({ typeName: 'ship', input: 'x' }))
            const done = await complete(next, async (context) => {
              assert.equal(context.tx, own)
              return 'by hand'
            })
            if (fails) throw new Error('no')
            return done
          },
        })
      const [one, two, three] = [await start(bench), await start(bench), await start(bench)]
      assert.equal((await end(one.id)).output, 'by hand')
      await assert.rejects(end(two.id, undefined, true), /no/)
      assert.deepEqual([(await client.getJobChain(two))!.state, await rows.ids()], ['queued', [one.id]])
      const rolledBack = inTransaction(storage, async (tx) => {
        await end(three.id, tx)
        throw new Error('not this')
      })
      await assert.rejects(rolledBack, /not this/)
      assert.equal((await client.getJobChain(three))!.state, 'queued')
      await inTransaction(storage, (tx) => end(three.id, tx))
      assert.equal((await client.getJobChain(three))!.state, 'completed')
      assert.deepEqual(await rows.ids(), [one.id, three.id].toSorted())
    })

    test('[chains trap 20] the user’s transaction is never poisoned by a refusal', async (t) => {
      const bench = await chainBench(t, driver, types)
      const { client, storage, rows } = bench
      const done = await start(bench)
      const complete = (id: string, tx?: unknown) =>
        client.completeJobChain({
          typeName: 'order',
          id,
          tx,
          complete: async (context) => {
            assert.ok(context.job.typeName === 'order')
            return context.complete(context.job, async () => 'x')
          },
        })
      await complete(done.id)
      const refusals: [string, (tx: unknown) => Promise<unknown>][] = [
        ['JOB_ALREADY_COMPLETED', (tx) => complete(done.id, tx)],
        ['CHAIN_NOT_FOUND', (tx) => complete('missing', tx)],
        ['SERIALIZATION_ERROR', (tx) => start(bench, (() => 'x') as never, tx)],
        ['JOB_NOT_FOUND', (tx) => client.triggerJob({ typeName: 'order', id: 'missing', tx })],
        ['NOT_TRIGGERABLE', (tx) => client.triggerJob({ typeName: 'order', id: done.id, tx })],
        [
          'CHAIN_NOT_FOUND',
          (tx) => client.deleteJobChains({ rootChainIds: [{ typeName: 'order', id: 'missing' }], tx }),
        ],
        ['INVALID_ARGUMENT', (tx) => client.startJobChain({ typeName: 'order', input: 'x', priority: 1e9, tx })],
      ]
      for (const [code, run] of refusals) {
        await inTransaction(storage, async (tx) => {
          await rows.add(tx, `before ${code}`)
          await assert.rejects(run(tx), { code })
          await rows.add(tx, `after ${code}`)
        })
      }
      await inTransaction(storage, async (tx) => {
        const duplicate = await client.startJobChain({ typeName: 'order', input: 'y', id: done.id, tx })
        assert.equal(duplicate.deduplicated, true)
        await rows.add(tx, 'after a duplicate')
      })
      assert.equal((await rows.ids()).length, 2 * refusals.length + 1)
    })

    test('events of a transaction of the user’s are told as unknown; withNotify keeps them, and drops them if it throws', async (t) => {
      const bench = await chainBench(t, driver, types)
      const { client, storage, told } = bench
      await inTransaction(storage, (tx) => start(bench, 'a', tx))
      assert.deepEqual(
        told('jobChainCreated').map(({ committed }) => committed),
        ['unknown'],
      )
      const boom = new Error('boom')
      const dropped = client.withNotify(() =>
        inTransaction(storage, async (tx) => {
          await start(bench, 'b', tx)
          throw boom
        }),
      )
      await assert.rejects(dropped, boom)
      await client.withNotify(async () => {
        await client.withNotify(() => inTransaction(storage, (tx) => start(bench, 'c', tx)))
        assert.equal(told('jobChainCreated').length, 1)
      })
      assert.deepEqual(
        told('jobChainCreated').map(({ committed }) => committed),
        ['unknown', undefined],
      )
    })

    test('an exclusive transaction that is open too long is rolled back', async (t) => {
      const bench = await chainBench(t, driver, types)
      const { client, rows, work, storage } = bench
      if (!storage.settings.exclusiveTransactions) return t.skip('settings.exclusiveTransactions is false')
      const errors: unknown[] = []
      await work({
        order: {
          leaseConfig: { leaseMs: 800, renewIntervalMs: 300 },
          process: async ({ job, prepare, complete, signal }) => {
            await prepare({ mode: 'atomic' }, async ({ tx }) => rows.add(tx, `by ${job.attempt}`))
            errors.push(job.lastAttemptError?.code)
            if (job.attempt === 1) await until(() => signal.aborted)
            return complete('done')
          },
        },
      })
      await client.waitForJobChainCompletion(await start(bench), wait)
      assert.deepEqual([errors, await rows.ids()], [[undefined, 'TRANSACTION_TOO_LONG'], ['by 2']])
    })
  })

  test('tx is refused where the storage has no transactions', async (t) => {
    const { client, storage } = await chainBench(t, driver, types)
    if (storage.features.transactions) return t.skip('it has')
    await assert.rejects(client.startJobChain({ typeName: 'order', input: 'x', tx: {} }), { code: 'INVALID_ARGUMENT' })
    await assert.rejects(client.getJob({ typeName: 'order', id: 'x', tx: {} }), { code: 'INVALID_ARGUMENT' })
  })
}
