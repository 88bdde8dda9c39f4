// Schedules of chains, under a fake clock. What every face shares is in test/queue/schedules.clock.test.ts.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createInProcessWorker, createJobTypeRegistry, defineJobTypes, type JobSchedule } from 'holdfast/chains'
import { clockBench } from './clock-bench.ts'

const [second, minute, hour] = [1_000, 60_000, 3_600_000]
const start = Date.parse('2026-01-01T00:00Z')

interface Types {
  report: { entry: true; input: { day: string }; continueWith: { typeName: 'send' } }
  send: { input: { text: string }; output: string }
  ping: { entry: true; input: number; output: number }
}

const registry = defineJobTypes<Types>()

describe('schedules of chains, under a fake clock', () => {
  test('[F7] [F8] a declared schedule starts a chain per slot; its first job knows the slot, a continuation does not', async (t) => {
    const { clock, work, client } = await clockBench(t, registry)
    const seen: [string, JobSchedule | undefined][] = []
    await work(
      {
        report: {
          process: async ({ job, complete }) => {
            seen.push([job.typeName, job.schedule])
            return complete(({ continueWith }) => continueWith({ typeName: 'send', input: { text: job.input.day } }))
          },
        },
        send: {
          process: async ({ job, complete }) => {
            seen.push([job.typeName, job.schedule])
            return complete(job.input.text)
          },
        },
      },
      { schedules: { nightly: { typeName: 'report', input: { day: 'last' }, cron: '0 3 * * *' } } },
    )
    await clock.advance(4 * hour)
    const slotAt = start + 3 * hour
    assert.deepEqual(seen, [
      ['report', { name: 'nightly', slotAt }],
      ['send', undefined],
    ])
    const chain = await client.getJobChain({ typeName: 'report', id: 'nightly@2026-01-01T03:00:00.000Z' })
    assert.deepEqual([chain!.state, chain?.state === 'completed' && chain.output], ['completed', 'last'])
    const [info] = await client.schedules.list()
    assert.deepEqual(
      [info!.name, info!.typeName, info!.input, info!.lastAt, info!.nextAt],
      ['nightly', 'report', { day: 'last' }, slotAt, slotAt + 24 * hour],
    )
  })

  test('[F10] overlap skip looks at the whole chain, not at its first job', async (t) => {
    const { clock, work, client } = await clockBench(t, registry)
    const reports: number[] = []
    await work(
      {
        report: {
          process: async ({ job, complete }) => {
            reports.push(job.schedule!.slotAt! - start)
            return complete(({ continueWith }) =>
              continueWith({ typeName: 'send', input: { text: '' }, delayMs: 150 * second }),
            )
          },
        },
        send: { process: async ({ complete }) => complete('') },
      },
      { concurrency: 5 },
    )
    await client.schedules.put('a', { typeName: 'report', input: { day: '' }, everyMs: minute, overlap: 'skip' })
    await clock.advance(6 * minute + second)
    assert.deepEqual(reports, [1 * minute, 4 * minute])
  })

  test('a worker fires the schedules of its own types, and removes no others', async (t) => {
    const { clock, work, client } = await clockBench(t, registry)
    const ran: string[] = []
    const ping = {
      ping: { process: async ({ job, complete }: any) => (ran.push(job.schedule.name), complete(job.input)) },
    }
    const stop = await work(ping, { release: 1, schedules: { a: { typeName: 'ping', input: 1, everyMs: minute } } })
    await client.schedules.put('report', { typeName: 'report', input: { day: '' }, everyMs: minute })
    await clock.advance(minute)
    assert.deepEqual(ran, ['a'])
    const page = await client.listJobs()
    assert.deepEqual(
      page.items.map(({ typeName }) => typeName),
      ['ping'],
    )
    await stop()
    const others = { report: { process: async () => assert.fail('no report is due') } }
    await work(others, { release: 2, schedules: {} })
    assert.deepEqual(
      (await client.schedules.list()).map(({ name }) => name),
      ['a', 'report'],
    )
    await work(ping, { release: 2, schedules: { b: { typeName: 'ping', input: 1, everyMs: hour } } })
    assert.deepEqual(
      (await client.schedules.list()).map(({ name }) => name),
      ['b', 'report'],
    )
  })

  test('fire, pause and preview; a closed client refuses', async (t) => {
    const { clock, work, client } = await clockBench(t, registry)
    const inputs: unknown[] = []
    await work({ ping: { process: async ({ job, complete }) => (inputs.push(job.input, job.schedule), complete(0)) } })
    await client.schedules.put('a', { typeName: 'ping', input: 7, everyMs: minute })
    await client.schedules.pause('a', { by: 'ada' })
    await clock.advance(2 * minute)
    assert.deepEqual(inputs, [])
    const id = await client.schedules.fire('a')
    await clock.advance(0)
    assert.deepEqual(inputs, [7, { name: 'a' }])
    assert.equal((await client.getJobChain({ typeName: 'ping', id }))!.state, 'completed')
    assert.deepEqual(
      (await client.schedules.preview('a', 2)).map(({ at }) => at - start),
      [3 * minute, 4 * minute],
    )
    await client.close()
    await assert.rejects(client.schedules.list(), { code: 'STORAGE_CLOSED' })
  })

  test('[F6] type and input are checked by the compiler and by the registry, before anything is stored', async (t) => {
    const checked = createJobTypeRegistry<Types>({
      typeNames: ['report', 'send', 'ping'],
      validateEntry: (typeName: string) => assert.notEqual(typeName, 'send'),
      parseInput: (typeName: string, input: unknown) => {
        if (typeName === 'ping') assert.equal(typeof input, 'number')
        return input
      },
      parseOutput: (_: string, output: unknown) => output,
      validateContinueWith: () => {},
      validateBlockers: () => {},
    } as never)
    const { client, storage } = await clockBench(t, checked)
    const wrong = { typeName: 'ping', input: 'no number', everyMs: minute } as const
    // @ts-expect-error the input of ping is a number
    await assert.rejects(client.schedules.put('a', wrong))
    // @ts-expect-error send starts no chain
    await assert.rejects(client.schedules.put('a', { typeName: 'send', input: { text: '' }, everyMs: minute }))
    // @ts-expect-error a schedule has no delay
    await assert.rejects(client.schedules.put('a', { typeName: 'ping', input: 1, everyMs: minute, delayMs: 1 }), {
      code: 'INVALID_ARGUMENT',
    })
    assert.deepEqual((await storage.kv.list(['holdfast'], { limit: 9 })).items, [])
    const worker = await createInProcessWorker<Types>({
      storage,
      jobTypeRegistry: checked,
      // @ts-expect-error the input of ping is a number
      schedules: { a: wrong },
      jobTypeProcessors: { ping: { process: async ({ complete }) => complete(0) } },
    })
    await assert.rejects(worker.start())
  })
})
