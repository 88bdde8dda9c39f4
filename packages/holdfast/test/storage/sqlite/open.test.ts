// connect: a database that cannot be opened is refused with a typed error that has the cause, and no file stays open.

import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, readdirSync, readlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { Queue, StorageError } from 'holdfast'
import { SqliteStorage } from 'holdfast/sqlite'
import { defaultType } from '../../../src/storage/stored-type.ts'
import { bench, newJob } from './bench.ts'

/** Open files of this process, where the system lists them. */
function openFiles(directory: string): string[] {
  try {
    return readdirSync('/proc/self/fd').flatMap((fd) => {
      try {
        const target = readlinkSync(`/proc/self/fd/${fd}`)
        return target.startsWith(directory) ? [target] : []
      } catch {
        return []
      }
    })
  } catch {
    return []
  }
}

async function refused(directory: string, path: string, message: RegExp): Promise<void> {
  const storage = new SqliteStorage({ path })
  const check = (error: unknown): true => {
    assert.ok(error instanceof StorageError, String(error))
    assert.match(error.message, message)
    assert.equal(error.maybeApplied, false)
    return true
  }
  await assert.rejects(storage.connect(), check)
  await assert.rejects(Promise.all([storage.connect(), storage.connect()]), check)
  await assert.rejects(new Queue<string>({ storage }).start(), check)
  await assert.rejects(storage.add([newJob('a')]), { code: 'STORAGE_CLOSED' })
  // A disconnect without a connect does nothing.
  await storage.disconnect()
  assert.deepEqual(openFiles(directory), [])
}

test('a path that is missing or no text is refused by the constructor', () => {
  for (const path of ['', undefined, null, 7, {}]) {
    assert.throws(() => new SqliteStorage({ path: path as string }), { name: 'TypeError', code: 'INVALID_ARGUMENT' })
  }
  assert.throws(() => new SqliteStorage({ path: undefined as unknown as string }), {
    message: "SqliteStorage: path: expected the path of a database file, or ':memory:', got undefined",
  })
})

test('a file that is no database, a directory, and a missing directory are refused', async (t) => {
  const { directory } = bench(t)
  const text = join(directory, 'text')
  writeFileSync(text, 'not a database, but long enough to be looked at: '.repeat(100))
  await refused(directory, text, /SQLite: cannot open the database '.*text': file is not a database/)
  mkdirSync(join(directory, 'folder'))
  await refused(directory, join(directory, 'folder'), /folder': it is a directory/)
  await refused(
    directory,
    join(directory, 'nowhere', 'jobs.db'),
    /nowhere.*: its directory does not exist\. Create it first\./,
  )
})

const isRoot = process.getuid?.() === 0

test(
  '[trap 46] a read-only directory and a read-only file are refused',
  { skip: isRoot && 'root may write everywhere' },
  async (t) => {
    const { directory, open, path } = bench(t)
    await (await open()).disconnect()
    chmodSync(path, 0o400)
    await refused(directory, path, /readonly|read-only/)
    const locked = join(directory, 'locked')
    mkdirSync(locked, { mode: 0o500 })
    await refused(directory, join(locked, 'jobs.db'), /EACCES/)
  },
)

test('[V1] a schema with other steps, or with more steps than this version knows, is refused and left as it is', async (t) => {
  for (const [change, message] of [
    ["UPDATE holdfast_migrations SET checksum = 'other'", /cannot open the database '.*': schema step 1 differs/],
    [
      "INSERT INTO holdfast_migrations VALUES (6, 'later'), (7, 'later')",
      /has 7 schema steps, and this version knows 5/,
    ],
    ['UPDATE holdfast_migrations SET number = number + 10', /cannot open the database '.*': schema step 1 differs/],
  ] as const) {
    const { directory, open, path, look } = bench(t)
    const first = await open()
    await first.add([newJob('a')])
    await first.disconnect()
    const db = look()
    db.exec(change)
    const before = db.prepare('SELECT * FROM holdfast_migrations').all()
    db.close()
    await refused(directory, path, message)
    const after = look()
    assert.deepEqual(after.prepare('SELECT * FROM holdfast_migrations').all(), before)
    assert.equal(after.prepare('SELECT id FROM holdfast_jobs').all().length, 1)
    after.close()
  }
})

test('a failed step leaves a database without a schema, and connect works once its cause is gone', async (t) => {
  const { directory, path } = bench(t)
  const db = new DatabaseSync(path)
  db.exec('CREATE TABLE holdfast_keys (mine)')
  db.close()
  await refused(directory, path, /holdfast_keys already exists/)
  const again = new DatabaseSync(path)
  assert.equal(again.prepare("SELECT * FROM sqlite_schema WHERE name = 'holdfast_jobs'").get(), undefined)
  again.exec('DROP TABLE holdfast_keys')
  again.close()
  const storage = new SqliteStorage({ path })
  await storage.connect()
  await storage.disconnect()
})

test('[V1] six processes that open a new file at once all work on it', async (t) => {
  const { spawn, open } = bench(t)
  const children = Array.from({ length: 6 }, () => spawn('open'))
  for (const child of children) await child.next()
  for (const child of children) child.send()
  for (const child of children) assert.equal(await child.next(), 'added', child.errors)
  const storage = await open()
  assert.equal((await storage.count({})).types[0]!.states.queued, 6)
})

test('concurrent connects and disconnects', async (t) => {
  const { directory, path } = bench(t)
  const storage = new SqliteStorage({ path })
  for (let round = 0; round < 20; round++) {
    const first = storage.connect()
    if (round % 2) await first
    const out = storage.disconnect()
    const second = storage.connect()
    await Promise.all([first, out, second])
    await storage.add([newJob(`${round}`)])
    await storage.disconnect()
    await assert.rejects(storage.add([newJob('closed')]), { code: 'STORAGE_CLOSED' })
  }
  assert.deepEqual(openFiles(directory), [])
})

test('a relative path is resolved by the constructor', async (t) => {
  const { directory, open, path } = bench(t)
  const before = process.cwd()
  t.after(() => process.chdir(before))
  process.chdir(directory)
  const storage = new SqliteStorage({ path: 'jobs.db' })
  process.chdir(before)
  await storage.connect()
  await storage.listen([{ kind: 'wake', type: defaultType }], () => {})
  await storage.add([newJob('a')])
  await storage.disconnect()
  const other = await open({ path })
  assert.equal((await other.get([{ type: defaultType, id: 'a' }]))[0]!.state, 'queued')
})
