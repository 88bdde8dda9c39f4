import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeLine, encodeLine, jobLogOf } from '../../../src/engine/job/log-lines.ts'

test('[F27] a line comes back as it was: its text, and its fields with their types', () => {
  assert.deepEqual(decodeLine(encodeLine('sent')), { text: 'sent' })
  assert.deepEqual(decodeLine(encodeLine('')), { text: '' })
  const fields = { to: 'ada', at: new Date(5), size: 10n, nested: { list: [1, null] } }
  assert.deepEqual(decodeLine(encodeLine('sent', fields)), { text: 'sent', fields })
  assert.equal(Buffer.from(encodeLine('sent', { n: 1 })).toString(), '{"text":"sent","fields":{"n":1}}')
})

test('[F27] fields that cannot be stored are replaced by the reason', () => {
  const cycle: Record<string, unknown> = {}
  cycle.self = cycle
  for (const fields of [{ run: () => {} }, cycle, { s: Symbol('s') }]) {
    const { text, fields: kept } = decodeLine(encodeLine('sent', fields))
    assert.equal(text, 'sent')
    assert.match(String(kept?.notStored), /^line\.fields\..+ cannot be stored$/)
  }
})

test('[F27] a line has at most 8 KiB', () => {
  for (const [text, fields] of [
    ['x'.repeat(100_000)],
    ['\u0001'.repeat(100_000)],
    ['€'.repeat(100_000), { n: 1 }],
    ['short', { long: 'x'.repeat(100_000) }],
    ['x'.repeat(8_000), { long: 'x'.repeat(8_000) }],
  ] as [string, Record<string, unknown>?][]) {
    const line = encodeLine(text, fields)
    assert.ok(line.byteLength <= 8_192, `${line.byteLength} bytes`)
    const decoded = decodeLine(line)
    assert.ok(decoded.text === text || (decoded.text.length === 1_025 && decoded.text.endsWith('…')))
    if (fields) assert.match(String(decoded.fields?.notStored), /^the line has \d+ bytes, above 8192$/)
  }
})

test('[F27] bytes that are no line are shown as text', () => {
  for (const text of ['no JSON', '5', 'null', '[]', '{"text":5}']) {
    assert.deepEqual(decodeLine(Buffer.from(text)), { text })
  }
})

test('[F27] lines are numbered from the first that was logged, deleted ones included', () => {
  const lines = [1, 1, 2].map((attempt, at) => ({ attempt, at, line: encodeLine(`l${at}`) }))
  assert.deepEqual(jobLogOf({ lines, dropped: 7 }, { attempt: 1, after: 8 }), {
    lines: [{ number: 9, at: 1, attempt: 1, text: 'l1' }],
    dropped: 7,
  })
})
