// admin.limits: of every face, by face and name.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createAdmin, MemoryStorage, Queue } from 'holdfast'
import { fakeClock } from 'holdfast/testing'

describe('admin.limits', () => {
  test('[F20] reads, sets and clears the limits of a type and of its groups, with the operator', async () => {
    const clock = fakeClock()
    const storage = new MemoryStorage({ clock })
    const logged: [object, string][] = []
    const logger = { info: (data: object, message: string) => void logged.push([data, message]) }
    await using admin = createAdmin({ storage, clock, by: 'ada', logger })
    await using mail = new Queue<string>({ storage, clock, name: 'mail', limits: { concurrency: 5 }, release: 2 })
    await mail.start()
    await mail.enqueue('a', 'x', { group: 'g' })
    const target = { face: 'queue', name: 'mail' }
    await admin.limits.set(target, { concurrency: 2 })
    await admin.limits.set({ ...target, group: 'g' }, { limit: 1 }, { by: 'bob' })
    const at = clock.now()
    assert.deepEqual(await admin.limits.get(target), {
      declared: { limits: { concurrency: 5 }, release: 2 },
      override: { limits: { concurrency: 2 }, at, by: 'ada' },
      effective: { concurrency: 2 },
      use: { running: 0, waiting: 1 },
      groups: [
        {
          group: 'g',
          override: { limits: { limit: 1 }, at, by: 'bob' },
          effective: { limit: 1 },
          use: { running: 0, waiting: 1 },
        },
      ],
    })
    // What an operator set is not what code declares.
    await admin.limits.clear({ ...target, group: 'g' })
    await admin.limits.clear(target)
    const cleared = await admin.limits.get(target)
    assert.deepEqual([cleared.override, cleared.effective, cleared.groups], [undefined, { concurrency: 5 }, []])
    assert.deepEqual(
      logged.map(([data, message]) => [(data as { by: string }).by, message]),
      [
        ['ada', "admin: set limits of queue 'mail'"],
        ['bob', "admin: set limits of group 'g' of queue 'mail'"],
        ['ada', "admin: removed the limits that were set of group 'g' of queue 'mail'"],
        ['ada', "admin: removed the limits that were set of queue 'mail'"],
      ],
    )
  })

  test('[F20] of a type that has no job and no limits', async () => {
    await using admin = createAdmin({ storage: new MemoryStorage() })
    assert.deepEqual(await admin.limits.get({ face: 'chain', name: 'report' }, { groups: ['g'] }), {
      effective: {},
      use: { running: 0, waiting: 0 },
      groups: [{ group: 'g', effective: {}, use: { running: 0, waiting: 0 } }],
    })
  })

  test('[F20] wrong calls are refused', async () => {
    await using admin = createAdmin({ storage: new MemoryStorage() })
    const target = { face: 'queue', name: 'mail' }
    for (const call of [
      () => admin.limits.get({ face: 'queue' } as never),
      () => admin.limits.get(target, { group: 'g' } as never),
      () => admin.limits.set(target, { limit: 1 } as never),
      () => admin.limits.set({ ...target, group: 'g' }, { concurrency: 1 } as never),
      () => admin.limits.set(target, null as never),
      () => admin.limits.set(target, { concurrency: 1 }, { by: 5 } as never),
      () => admin.limits.clear({ ...target, id: 'a' } as never),
    ]) {
      await assert.rejects(call, { code: 'INVALID_ARGUMENT' })
    }
    await admin.close()
    await assert.rejects(admin.limits.get(target), { code: 'CLOSED' })
  })

  test('list() returns what get() returns, and counts only what must be counted', async () => {
    const clock = fakeClock()
    const storage = new MemoryStorage({ clock })
    await using admin = createAdmin({ storage, clock })
    const targets = ['mail', 'plain', 'none'].map((name) => ({ face: 'queue', name }))
    await using mail = new Queue<string>({ storage, clock, name: 'mail', limits: { concurrency: 5 } })
    await using plain = new Queue<string>({ storage, clock, name: 'plain' })
    await mail.start()
    await mail.enqueue('a', 'x', { group: 'g' })
    await plain.enqueue('a', 'x')
    await storage.claim({ worker: 'w/1', slots: 1, types: [{ type: 'queue.plain', leaseMs: 1_000 }] })
    const expected = await Promise.all(targets.map((target) => admin.limits.get(target)))
    assert.deepEqual(expected[1]!.use, { running: 1, waiting: 0 })
    assert.deepEqual(await admin.limits.list(targets), expected)
    // As types() returned them.
    const summaries = await admin.types()
    assert.deepEqual(
      await admin.limits.list(summaries),
      summaries.map(({ name }) => expected[targets.findIndex((target) => target.name === name)]!),
    )
    const [withGroup] = await admin.limits.list([{ ...targets[0]!, groups: ['g'] }])
    assert.deepEqual(withGroup, await admin.limits.get(targets[0]!, { groups: ['g'] }))
    assert.deepEqual(await admin.limits.list([]), [])
    await assert.rejects(admin.limits.list([{ face: 'queue', name: 7 as unknown as string }]), TypeError)
  })
})
