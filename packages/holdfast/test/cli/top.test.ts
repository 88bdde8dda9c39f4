// `holdfast top`: what it draws at a given size, what its keys do, and that only changed lines are written.

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { createAdmin, MemoryStorage, Queue } from 'holdfast'
import { systemClock } from '../../src/clock.ts'
import { keysOf } from '../../src/cli/process-host.ts'
import { draw } from '../../src/cli/top/draw.ts'
import { RateMeter } from '../../src/cli/top/rates.ts'
import { Screen } from '../../src/cli/top/screen.ts'
import { sparkline } from '../../src/cli/top/sparkline.ts'
import { Top } from '../../src/cli/top/top.ts'
import { render, widthOf } from '../../src/cli/text.ts'
import { until } from '../queue/driver.ts'
import { stopPlaces } from '../redis-places.ts'
import { placeWith, start } from './test-host.ts'

after(stopPlaces)

const plain = (top: Top, columns = 80, rows = 24): string[] =>
  draw(top.view(), { columns, rows }).map((parts) => render(parts, false))

test('it fits every size, and has types, workers and failures at 80 × 24', async (t) => {
  const { storage } = await placeWith(t, 'sqlite')
  const admin = createAdmin({ storage })
  t.after(() => admin.close())
  const top = new Top(admin, systemClock, storage.driver)
  await top.refresh()
  const screen = plain(top)
  assert.equal(screen.length, 24)
  assert.match(screen[0]!, /^holdfast top {2}sqlite {2}\d\d:\d\d:\d\dZ {2}1 type, 1 worker$/)
  assert.match(screen[1]!, /^completed +0\.0\/s +failed +0\.0\/s *$/)
  const text = screen.join('\n')
  assert.match(text, /^TYPE +WAITING +DUE +RUNNING +FAILED +OLDEST +NOTE$/m)
  assert.match(text, /^queue\.mail +1 +0 +0 +2 +- *$/m)
  assert.match(text, /^post-office .*queue\.mail +0\/1 /m)
  assert.match(text, /^m1 +queue\.mail .* ago +a\\x1b\[31mred/m)
  assert.match(screen[23]!, /^q quit {2}↑↓ select/)
  for (const [columns, rows] of [
    [200, 60],
    [80, 24],
    [40, 12],
    [20, 6],
    [5, 3],
    [1, 1],
  ] as const) {
    const lines = plain(top, columns, rows)
    assert.ok(lines.length <= rows, `${columns}x${rows}: ${lines.length} lines`)
    for (const line of lines) assert.ok(widthOf(line) <= columns, `${columns}: ${line}`)
  }
})

test('it says what is left out, which types have no worker, and how many jobs run', async (t) => {
  const storage = new MemoryStorage()
  const names = Array.from({ length: 40 }, (_, n) => `type-${String(n).padStart(2, '0')}`)
  const queues = names.map((name) => new Queue<number>({ storage, name, workerId: `of ${name}`, concurrency: 2 }))
  const ended = Promise.withResolvers<void>()
  for (const queue of queues.slice(0, 12)) {
    queue.execute(() => ended.promise)
    await queue.start()
  }
  for (const queue of queues) for (const id of ['a', 'b', 'c']) await queue.enqueue(id, 1)
  const admin = createAdmin({ storage })
  t.after(async () => {
    ended.resolve()
    await Promise.all(queues.map((queue) => queue.stop()))
    await admin.close()
  })
  await until(async () => (await admin.types()).filter(({ states }) => states.processing === 2).length === 12)
  const top = new Top(admin, systemClock, storage.driver)
  await top.refresh()
  const text = plain(top, 80, 30).join('\n')
  assert.match(text, /^1 – \d+ of 40 types$/m)
  assert.match(text, /^and \d+ workers more$/m)
  assert.match(text, /^of type-00 .* 2\/2 /m)
  const all = plain(top, 80, 100).join('\n')
  assert.match(all, /^queue\.type-39 +3 +3 +0 +0 +\S+ \w+ +no worker$/m)
  assert.match(all, /^queue\.type-00 +1 +1 +2 +0 +\S+ \w+ *$/m)
})

test('the message of a storage that does not answer goes when it answers again', async (t) => {
  const storage = new MemoryStorage()
  let isAway = false
  const admin = createAdmin({
    storage: new Proxy(storage, {
      get(of, name) {
        const value: unknown = Reflect.get(of, name, of)
        if (typeof value !== 'function') return value
        return (...args: unknown[]): unknown =>
          isAway && name === 'count'
            ? Promise.reject(new Error('connect ECONNREFUSED'))
            : Reflect.apply(value, of, args)
      },
    }),
  })
  t.after(() => admin.close())
  const top = new Top(admin, systemClock, storage.driver)
  await top.refresh()
  isAway = true
  await top.refresh()
  assert.match(plain(top).join('\n'), /The storage does not answer: .*ECONNREFUSED/)
  assert.match(plain(top)[0]!, /^holdfast top {2}\w+ {2}as of \d\d:\d\d:\d\dZ /)
  isAway = false
  await top.refresh()
  assert.doesNotMatch(plain(top).join('\n'), /does not answer/)
})

for (const driver of ['sqlite', 'redis'] as const) {
  test(`${driver}: keys select, open, pause, and retry after a question`, async (t) => {
    const { storage } = await placeWith(t, driver)
    const other = new Queue<number>({ storage, name: 'other' })
    await other.enqueue('o1', 1)
    const admin = createAdmin({ storage, by: 'ada' })
    t.after(() => Promise.all([admin.close(), other.stop()]))
    const top = new Top(admin, systemClock, storage.driver)
    await top.refresh()
    const selected = (): string => top.view().types[top.view().selected]!.name
    assert.equal(selected(), 'mail') // it has failures
    await top.press('\x1b[B')
    assert.equal(selected(), 'other')
    await top.press('\x1b[B')
    assert.equal(selected(), 'other')
    await top.press('r')
    assert.equal(top.view().message, 'queue.other has no failed jobs.')
    await top.press('p')
    assert.equal(top.view().message, 'queue.other was paused.')
    assert.equal((await other.counts()).paused?.by, 'ada')
    await top.press('p')
    assert.equal((await other.counts()).paused, undefined)
    await top.press('\x1b[A')
    await top.press('\r')
    assert.match(plain(top).join('\n'), /^failed +2$/m)
    await top.press('p')
    await top.press('r')
    assert.equal(top.view().message, 'Retry 2 failed jobs of queue.mail? y/n')
    await top.press('n')
    assert.equal(top.view().message, 'Nothing was changed.')
    await top.press('r')
    await top.press('y')
    assert.equal(top.view().message, '2 jobs of queue.mail retried.')
    assert.equal(top.view().opened?.states.failed, 0)
    await top.press('\x1b')
    assert.equal(top.view().opened, undefined)
    await top.press('q')
    assert.equal(top.isOver, true)
  })
}

test('the command: the screen is opened, drawn, and restored when q is pressed', async (t) => {
  const { at, folder } = await placeWith(t, 'sqlite')
  const pressed = Promise.withResolvers<void>()
  const keys = async function* (): AsyncGenerator<string> {
    yield 'p'
    await pressed.promise
    yield 'q'
  }
  const size = { columns: 80, rows: 24 }
  const top = start(['top', '--every', '10ms', ...at], { cwd: folder, size, keys, env: { NO_COLOR: '1' } })
  await until(() => top.out().includes('was paused'))
  pressed.resolve()
  const { code, out } = await top.ended
  assert.equal(code, 0)
  assert.ok(out.startsWith('\x1b[?1049h\x1b[?25l'))
  assert.ok(out.endsWith('\x1b[?25h\x1b[?1049l'))
  // No colors, and the line that keys act on is still seen.
  assert.ok(['1m', '2m', '31m', '32m', '33m', '36m'].every((style) => !out.includes(`\x1b[${style}`)))
  assert.ok(out.includes('\x1b[7mqueue.mail'))
})

test('a storage that does not answer has no figures: an error, and exit code 1 with --once', async () => {
  const at = ['--url', 'redis://127.0.0.1:1']
  const once = await start(['top', '--once', ...at]).ended
  assert.deepEqual([once.code, once.out], [1, ''])
  assert.match(once.errors, /^The storage does not answer: .*Check the address/)
  const json = await start(['top', '--once', '--json', ...at]).ended
  assert.equal(json.code, 1)
  assert.match((JSON.parse(json.out) as { outage: string }).outage, /does not answer/)
  const storage = new MemoryStorage()
  const admin = createAdmin({ storage })
  const top = new Top(admin, systemClock, 'memory')
  assert.match(plain(top).join('\n'), /^Nothing was read yet\.$/m)
  await top.refresh()
  assert.match(plain(top).join('\n'), /^The storage has no jobs\.$/m)
  await admin.close()
})

test('a terminal that changes its size is drawn anew at once', async (t) => {
  const { at, folder } = await placeWith(t, 'sqlite')
  const pressed = Promise.withResolvers<void>()
  const keys = async function* (): AsyncGenerator<string> {
    await pressed.promise
    yield 'q'
  }
  let size = { columns: 80, rows: 24 }
  let [resized, isForgotten] = [() => {}, false]
  const onResize = (callback: () => void) => {
    resized = callback
    return () => (isForgotten = true)
  }
  // The next look is far away.
  const top = start(['top', '--every', '1h', ...at], { cwd: folder, size: () => size, onResize, keys })
  await until(() => top.out().includes('queue.mail'))
  const before = top.out().length
  size = { columns: 40, rows: 10 }
  resized()
  const drawn = top.out().slice(before)
  assert.ok(drawn.startsWith('\x1b[2J') && drawn.includes('q quit  ↑↓ Enter  p pause  r retry'), drawn)
  pressed.resolve()
  await top.ended
  assert.equal(isForgotten, true)
})

test('a small terminal has whole names and the figures that matter, and no table without a line', async (t) => {
  const { storage } = await placeWith(t, 'sqlite')
  const admin = createAdmin({ storage })
  t.after(() => admin.close())
  for (const name of ['reports', 'thumbnails', 'webhooks', 'invoices']) {
    const queue = new Queue<number>({ storage, name })
    await queue.enqueue('1', 1)
    await queue.stop()
  }
  const top = new Top(admin, systemClock, storage.driver)
  await top.refresh()
  const small = plain(top, 40, 10)
  assert.equal(small.length, 10)
  assert.match(small[1]!, /^completed +0\.0\/s {2}failed +0\.0\/s$/)
  assert.match(small[3]!, /^TYPE +DUE +FAILED +NOTE$/)
  assert.ok(
    small.some((line) => line.startsWith('queue.invoices ')),
    small.join('\n'),
  )
  assert.ok(!small.some((line) => /^WORKER|LAST FAILED/.test(line)), small.join('\n'))
  // Failures matter more than workers where there is room for one of them.
  const low = plain(top, 80, 15).join('\n')
  assert.match(low, /^LAST FAILED.*\n\S/m)
  assert.doesNotMatch(low, /^WORKER/m)
  for (const rows of [18, 20, 24]) {
    const text = plain(top, 80, rows).join('\n')
    assert.match(text, /^LAST FAILED.*\n\S/m, `${rows} rows`)
    assert.match(text, /^WORKER.*\n\S/m, `${rows} rows`)
  }
})

test('only lines that changed are written, all of them after a change of the size', () => {
  let written = ''
  const screen = new Screen({ write: (text) => void (written += text), onCrash: () => () => {} }, false)
  const drawn = (lines: string[], columns = 80): string => {
    written = ''
    screen.draw(
      lines.map((line) => [line]),
      { columns, rows: 2 },
    )
    return written
  }
  assert.equal(drawn(['a', 'b']), '\x1b[2J\x1b[1;1Ha\x1b[K\x1b[2;1Hb\x1b[K')
  assert.equal(drawn(['a', 'c']), '\x1b[2;1Hc\x1b[K')
  assert.equal(drawn(['a', 'c']), '')
  assert.equal(drawn(['a', 'c'], 70), '\x1b[2J\x1b[1;1Ha\x1b[K\x1b[2;1Hc\x1b[K')
})

test('keys that come in one chunk are told apart', () => {
  assert.deepEqual(keysOf('\x1b[B\x1b[Apq\x1b'), ['\x1b[B', '\x1b[A', 'p', 'q', '\x1b'])
})

test('a crash restores the screen', () => {
  let [written, crash] = ['', () => {}]
  const screen = new Screen(
    { write: (text) => void (written += text), onCrash: (callback) => ((crash = callback), () => {}) },
    false,
  )
  screen.open()
  crash()
  assert.ok(written.endsWith('\x1b[?25h\x1b[?1049l'))
})

const types = (completed: number) => [{ states: { completed, failed: 0 } }] as never

test('rates: from events of all processes, else from counts; what expires counts as nothing', () => {
  const counted = new RateMeter()
  counted.look(types(10), undefined, 0)
  counted.look(types(30), undefined, 2_000)
  counted.look(types(5), undefined, 3_000)
  assert.deepEqual(counted.rates.completed, [10, 0])
  const heard = new RateMeter()
  for (const [completed, at] of [
    [0, 0],
    [7, 500],
  ] as const) {
    heard.look(types(0), { since: 0, scope: 'fleet', events: { completed } }, at)
  }
  assert.deepEqual(heard.rates.completed, [14])
  assert.equal(sparkline([0, 1, 2, 4], 5), ' ▁▃▅█')
  assert.equal(sparkline([], 3), '   ')
})
