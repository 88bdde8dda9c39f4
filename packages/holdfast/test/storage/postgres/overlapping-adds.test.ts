// Transactions that overlap in blockers, ids and keys: the second call waits for the first, and then sees its result.

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sized } from '../../full-size.ts'
import { stopPostgres } from '../../postgres-subject.ts'
import { begin, claim, done, end, job, lockWait, open, ref, stateOf } from './overlap-fixtures.ts'

after(stopPostgres)

test('[chains trap 1] two blockers that end in overlapping transactions both count', async () => {
  const storage = await open()
  await storage.add([job('a'), job('b')])
  await storage.add([job('last', { blockers: [ref('a'), ref('b')] })])
  const [a, b] = await claim(storage)
  const [one, other] = [await begin(), await begin()]
  await storage.settle([done(a!)], one)
  const settling = storage.settle([done(b!)], other)
  await lockWait()
  await end(one, 'COMMIT')
  const [verdict] = await settling
  assert.ok(verdict?.verdict === 'settled')
  assert.deepEqual(verdict.unblocked, [ref('last')])
  await end(other, 'COMMIT')
  assert.deepEqual(
    (await claim(storage)).map(({ id }) => id),
    ['last'],
  )
  await storage.disconnect()
})

test('[chains trap 1] a blocker whose end is rolled back does not count', async () => {
  const storage = await open()
  await storage.add([job('a'), job('b')])
  await storage.add([job('last', { blockers: [ref('a'), ref('b')] })])
  const [a, b] = await claim(storage)
  const one = await begin()
  await storage.settle([done(a!)], one)
  const settling = storage.settle([done(b!)])
  await lockWait()
  await end(one, 'ROLLBACK')
  await settling
  assert.equal(await stateOf(storage, 'last'), 'blocked')
  await storage.settle([done(a!)])
  assert.equal(await stateOf(storage, 'last'), 'queued')
  await storage.disconnect()
})

test('[chains trap 1] 200 dependents of two blockers each, settled concurrently: none is left blocked', async () => {
  const storage = await open()
  const count = 200
  const blockers = Array.from({ length: count }, (_, index) => [job(`a${index}`), job(`b${index}`)]).flat()
  await storage.add(blockers)
  await storage.add(
    Array.from({ length: count }, (_, index) =>
      job(`d${index}`, { blockers: [ref(`a${index}`), ref(`b${(7 * index) % count}`)] }),
    ),
  )
  const claimed = await claim(storage, 1_000)
  const parts = Array.from({ length: 8 }, (_, part) => claimed.filter((_job, index) => index % 8 === part))
  await Promise.all(parts.map((part) => storage.settle(part.map(done))))
  const { types } = await storage.count({ types: ['mail'] })
  assert.equal(types[0]!.states.blocked, 0)
  assert.equal(types[0]!.states.queued, count)
  await storage.disconnect()
})

for (const [how, state] of [
  ['COMMIT', 'queued'],
  ['ROLLBACK', 'blocked'],
] as const) {
  test(`[chains trap 2] a dependent added while its blocker ends (${how}) is ${state}`, async () => {
    const storage = await open()
    await storage.add([job('a')])
    const [a] = await claim(storage)
    const one = await begin()
    await storage.settle([done(a!)], one)
    const adding = storage.add([job('d', { blockers: [ref('a')] })])
    await lockWait()
    await end(one, how)
    assert.equal((await adding)[0]!.verdict, 'added')
    assert.equal(await stateOf(storage, 'd'), state)
    await storage.disconnect()
  })
}

test('[chains trap 2] a blocker that ends while its dependent is being added unblocks it', async () => {
  const storage = await open()
  await storage.add([job('a')])
  const [a] = await claim(storage)
  const one = await begin()
  await storage.add([job('d', { blockers: [ref('a')] })], one)
  const settling = storage.settle([done(a!)])
  await lockWait()
  await end(one, 'COMMIT')
  const [verdict] = await settling
  assert.ok(verdict?.verdict === 'settled')
  assert.deepEqual(verdict.unblocked, [ref('d')])
  assert.equal(await stateOf(storage, 'd'), 'queued')
  await storage.disconnect()
})

const rounds = sized(200, 25)

test(`[chains trap 2] ${rounds} rounds of both concurrently: the dependent is queued in the end`, async () => {
  const storage = await open()
  for (let round = 0; round < rounds; round++) {
    await storage.add([job(`a${round}`)])
    const [a] = await claim(storage, 1)
    await Promise.all([storage.settle([done(a!)]), storage.add([job(`d${round}`, { blockers: [ref(`a${round}`)] })])])
    const [d] = await claim(storage)
    assert.equal(d?.id, `d${round}`)
    await storage.settle([done(d)])
  }
  await storage.disconnect()
})

test('[chains trap 3] 30 concurrent adds with one key: one is added, the others get its job', async () => {
  const storage = await open()
  for (const deduplication of [
    { key: 'simple', mode: 'simple' },
    { key: 'window', mode: 'simple', windowMs: 60_000 },
    { key: 'all', mode: 'throttle', windowMs: 60_000 },
  ] as const) {
    const jobs = Array.from({ length: 30 }, (_, index) => job(`${deduplication.key} ${index}`, { deduplication }))
    const verdicts = (await Promise.all(jobs.map((one) => storage.add([one])))).flat()
    const added = verdicts.filter(({ verdict }) => verdict === 'added')
    assert.equal(added.length, 1)
    const ids = new Set(verdicts.map((verdict) => ('job' in verdict ? verdict.job.id : undefined)))
    assert.equal(ids.size, 1)
  }
  await storage.disconnect()
})

test('[Q4.06] [chains trap 3] 30 concurrent adds of one id: one is added', async () => {
  const storage = await open()
  const verdicts = await Promise.all(
    Array.from({ length: 30 }, (_, index) => storage.add([job('same', { token: `token ${index}` })])),
  )
  assert.equal(verdicts.flat().filter(({ verdict }) => verdict === 'added').length, 1)
  await storage.disconnect()
})

for (const [how, verdict] of [
  ['COMMIT', 'duplicate'],
  ['ROLLBACK', 'added'],
] as const) {
  test(`[chains trap 3] an add waits for an open transaction that takes the key (${how}): ${verdict}`, async () => {
    const storage = await open()
    const deduplication = { key: 'k', mode: 'simple' } as const
    const [one, other] = [await begin(), await begin()]
    await storage.add([job('a', { deduplication })], one)
    const adding = storage.add([job('b', { deduplication })], other)
    await lockWait()
    await end(one, how)
    assert.equal((await adding)[0]!.verdict, verdict)
    await end(other, 'COMMIT')
    await storage.disconnect()
  })

  test(`[chains trap 3] an add waits for an open transaction that takes the id (${how}): ${verdict}`, async () => {
    const storage = await open()
    const one = await begin()
    await storage.add([job('a')], one)
    const adding = storage.add([job('a', { token: 'another' })])
    await lockWait()
    await end(one, how)
    assert.equal((await adding)[0]!.verdict, verdict)
    await storage.disconnect()
  })
}
