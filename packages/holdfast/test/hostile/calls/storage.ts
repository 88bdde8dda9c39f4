// The verbs of a driver, as those who use the contract itself call them.

import assert from 'node:assert/strict'
import type { NewJob, Storage } from 'holdfast/storage'
import { calls, type HostileCall } from '../call.ts'
import type { Rig } from '../rig.ts'

const bytes = new Uint8Array([0, 255, 128])
const kept = { completedMs: 60_000, failedMs: 60_000, cancelledMs: 60_000 }

const newJob = (rig: Rig, fields: object = {}): NewJob => {
  const id = rig.id()
  return { type: 'hostile', id, token: id, retention: kept, payload: bytes, ...fields } as NewJob
}

/** Adds a job with the field, and returns it. */
const adding =
  (fields: (value: any) => object): HostileCall['run'] =>
  async (rig, value) => {
    const job = newJob(rig, fields(value))
    const [verdict] = await rig.storage.add([job])
    return { job, verdict }
  }

/** Without negative zeros: no storage keeps their sign. */
const plain = (value: unknown): unknown =>
  typeof value === 'object' ? JSON.stringify(value) : typeof value === 'number' ? value + 0 : value

/** The job is there, field by field; then it can be claimed, settled and removed. */
const sameJob =
  (fields: (value: any) => object): HostileCall['readBack'] =>
  async ({ storage }, value, { job, verdict }) => {
    assert.equal(verdict.verdict, 'added')
    const [record] = await storage.get([job], { parts: ['payload'] })
    const shown = record as unknown as Record<string, unknown>
    for (const [name, expected] of Object.entries(fields(value)))
      if (expected !== undefined) assert.deepEqual(plain(shown[name]), plain(expected), name)
    const { items } = await storage.list({ of: 'jobs', types: [job.type], limit: 1_000, order: 'desc' })
    assert.ok(
      items.some(({ type, id }) => type === job.type && id === job.id),
      'it is listed',
    )
    assert.equal((await storage.cancel([job]))[0]?.verdict, 'cancelled')
    assert.equal((await storage.remove([job]))[0]?.verdict, 'removed')
    assert.deepEqual(await storage.get([job]), [undefined])
  }

/** A call for each field of a job. */
const field = (
  takes: 'text' | 'number',
  name: string,
  fields: (value: any) => object,
  shown: (value: any) => object = fields,
): HostileCall[] =>
  calls(
    name,
    { 'storage.add': adding(fields) },
    { takes, readBack: sameJob(shown), names: new RegExp(name.replace('.', '\\.')) },
  )

const none = (): object => ({})

const ref = (value: unknown, name: 'type' | 'id') => ({ type: 'hostile', id: 'x', [name]: value }) as never
const lease = (value: unknown, name: string) =>
  ({ type: 'hostile', id: 'x', worker: 'w', attempt: 1, leaseMs: 1_000, [name]: value }) as never
const outcome = (value: unknown, name: string) =>
  ({ type: 'hostile', id: 'x', worker: 'w', attempt: 1, kind: 'completed', [name]: value }) as never
const claim = (value: unknown, name: string) =>
  ({ worker: `w`, slots: 1, types: [{ type: 'nothing', leaseMs: 1_000 }], [name]: value }) as never
const claimType = (value: unknown, name: string) =>
  ({ worker: 'w', slots: 1, types: [{ type: 'nothing', leaseMs: 1_000, [name]: value }] }) as never

const of = (
  storage: Storage,
): Record<'type' | 'id', (value: unknown, name: 'type' | 'id') => Readonly<Record<string, () => unknown>>> => {
  const all = (value: unknown, name: 'type' | 'id') => ({
    get: () => storage.get([ref(value, name)]),
    cancel: () => storage.cancel([ref(value, name)]),
    revive: () => storage.revive([ref(value, name)]),
    remove: () => storage.remove([ref(value, name)]),
    extend: () => storage.extend([lease(value, name)]),
    settle: () => storage.settle([outcome(value, name)]),
  })
  return { type: all, id: all }
}

const refCalls = (['type', 'id'] as const).flatMap((name) =>
  ['get', 'cancel', 'revive', 'remove', 'extend', 'settle'].flatMap((verb) =>
    calls(
      name,
      { [`storage.${verb}`]: ({ storage }, value) => of(storage)[name](value, name)[verb]!() },
      { takes: 'text' },
    ),
  ),
)

const verbs = (
  takes: 'text' | 'number',
  names: string,
  table: Readonly<Record<string, (storage: Storage, value: any) => unknown>>,
  regexp?: RegExp,
): HostileCall[] =>
  calls(
    names,
    Object.fromEntries(
      Object.entries(table).map(([name, run]) => [
        `storage.${name}`,
        (rig: Rig, value: unknown) => run(rig.storage, value),
      ]),
    ),
    { takes, ...(regexp && { names: regexp }) },
  )

export const storageCalls: readonly HostileCall[] = [
  ...field('text', 'id', (id) => ({ id })),
  ...field('text', 'type', (type) => ({ type })),
  ...field('text', 'token', (token) => ({ token })),
  ...field(
    'number',
    'priority',
    (priority) => ({ priority }),
    (priority) => (priority === undefined ? {} : { priority: priority + 0 }),
  ),
  ...field('number', 'weight', (weight) => ({ weight }), none),
  ...field('number', 'runAt', (runAt) => ({ runAt }), none),
  ...field('number', 'delayMs', (delayMs) => ({ delayMs }), none),
  ...field('number', 'maxAttempts', (maxAttempts) => ({ maxAttempts })),
  ...field('number', 'timeoutMs', (timeoutMs) => ({ timeoutMs })),
  ...field('number', 'expiresInMs', (expiresInMs) => ({ expiresInMs }), none),
  ...field('text', 'trace', (trace) => ({ trace })),
  ...field('number', 'retention.failedMs', (failedMs) => ({ retention: { ...kept, failedMs } })),
  ...field(
    'text',
    'group.key',
    (key) => ({ group: { key } }),
    (group) => ({ group }),
  ),
  ...field(
    'text',
    'deduplication.key',
    (key) => ({ deduplication: { key, mode: 'simple' } }),
    (deduplicationKey) => ({ deduplicationKey }),
  ),
  ...field(
    'number',
    'deduplication.windowMs',
    (windowMs) => ({ deduplication: { key: 'k', mode: 'simple', windowMs } }),
    none,
  ),
  ...refCalls,
  ...verbs('text', 'worker', {
    extend: (storage, value) => storage.extend([lease(value, 'worker')]),
    settle: (storage, value) => storage.settle([outcome(value, 'worker')]),
    claim: (storage, value) => storage.claim(claim(value, 'worker')),
  }),
  ...verbs('number', 'attempt', {
    extend: (storage, value) => storage.extend([lease(value, 'attempt')]),
    settle: (storage, value) => storage.settle([outcome(value, 'attempt')]),
  }),
  ...verbs('number', 'leaseMs', {
    extend: (storage, value) => storage.extend([lease(value, 'leaseMs')]),
    claim: (storage, value) => storage.claim(claimType(value, 'leaseMs')),
  }),
  ...verbs('number', 'slots', { claim: (storage, value) => storage.claim(claim(value, 'slots')) }),
  ...verbs('text', 'type', { 'claim: types': (storage, value) => storage.claim(claimType(value, 'type')) }),
  ...verbs('text', 'label', { claim: (storage, value) => storage.claim(claim(value, 'label')) }),
  ...verbs(
    'text',
    'pause',
    {
      'pause: type': (storage, type) => storage.pause({ type, paused: false }),
      'pause: group': (storage, group) => storage.pause({ type: 'hostile', group, paused: false }),
      'pause: by': (storage, by) => storage.pause({ type: 'hostile', paused: false, by }),
    },
    /type|group|by/,
  ),
  ...verbs('text', 'types', { recover: (storage, type) => storage.recover({ types: [type], limit: 1 }) }, /type/),
  ...verbs(
    'number',
    'recover',
    {
      'recover: limit': (storage, limit) => storage.recover({ types: ['hostile'], limit }),
      'recover: olderThanMs': (storage, olderThanMs) => storage.recover({ types: ['hostile'], limit: 1, olderThanMs }),
    },
    /limit|olderThanMs/,
  ),
  ...verbs('number', 'limit', {
    sweep: (storage, limit) => storage.sweep({ limit }),
    list: (storage, limit) => storage.list({ of: 'jobs', limit }),
  }),
  ...verbs(
    'text',
    'list',
    {
      'list: cursor': (storage, cursor) => storage.list({ of: 'jobs', limit: 1, cursor }),
      'list: cursor by place': (storage, cursor) => storage.list({ of: 'jobs', limit: 1, by: 'place', cursor }),
      'list: types': (storage, type) => storage.list({ of: 'jobs', limit: 1, types: [type] }),
      'list: group': (storage, group) => storage.list({ of: 'jobs', limit: 1, group }),
      'list: a name of where': (storage, name) => storage.list({ of: 'jobs', limit: 1, where: { [name]: 1 } }),
      'list: a value of where': (storage, value) => storage.list({ of: 'jobs', limit: 1, where: { field: value } }),
      'list: a bound of where': (storage, gte) => storage.list({ of: 'jobs', limit: 1, where: { field: { gte } } }),
      'list: chain': (storage, id) => storage.list({ of: 'jobs', limit: 1, chain: { type: 'hostile', id } }),
    },
    /cursor|type|group|where|search|chain|id/,
  ),
  ...verbs(
    'number',
    'created',
    {
      'list: createdFrom': (storage, createdFrom) => storage.list({ of: 'jobs', limit: 1, createdFrom }),
      'list: createdTo': (storage, createdTo) => storage.list({ of: 'jobs', limit: 1, createdTo }),
      'list: a value of where': (storage, value) => storage.list({ of: 'jobs', limit: 1, where: { field: value } }),
    },
    /created|where/,
  ),
  ...verbs('text', 'type', {
    count: (storage, type) => storage.count({ types: [type] }),
    nextDueAt: (storage, type) => storage.nextDueAt([{ type, leaseMs: 1 }]),
  }),
  ...verbs('text', 'key', { 'get: by key': (storage, key) => storage.get([{ type: 'hostile', key }]) }),
]

export const driverKvCalls: readonly HostileCall[] = [
  ...calls(
    'key',
    {
      'storage.kv.set: a part of the': async ({ storage: { kv } }, part) => {
        await kv.set([part, 'b'], bytes)
        assert.deepEqual([...(await kv.get([part, 'b']))!], [...bytes])
        const { items } = await kv.list([part], { limit: 10 })
        assert.deepEqual(
          items.map(({ key }) => [...key]),
          [[part, 'b']],
        )
        assert.equal(await kv.delete([part, 'b']), true)
        assert.equal(await kv.get([part, 'b']), undefined)
      },
    },
    { takes: 'text' },
  ),
  ...calls(
    'ttlMs',
    { 'storage.kv.set': ({ storage, id }, ttlMs) => storage.kv.set([id()], bytes, { ttlMs }) },
    { takes: 'number' },
  ),
  ...calls('limit', { 'storage.kv.list': ({ storage }, limit) => storage.kv.list([], { limit }) }, { takes: 'number' }),
  ...calls(
    'cursor',
    { 'storage.kv.list': ({ storage }, cursor) => storage.kv.list([], { limit: 1, cursor }) },
    { takes: 'text' },
  ),
]
