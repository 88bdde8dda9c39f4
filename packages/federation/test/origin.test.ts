// canonicalOrigin(): one name per server, for every spelling.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { canonicalOrigin, originOfUrl } from '../src/origin.ts'

const same: readonly (readonly [text: string, origin: string])[] = [
  ['https://a.example', 'https://a.example'],
  ['https://A.EXAMPLE:443/', 'https://a.example'],
  ['HTTPS://a.example', 'https://a.example'],
  ['https://a.example:8443', 'https://a.example:8443'],
  ['https://a.example:', 'https://a.example'],
  ['https://a.example:0443', 'https://a.example'],
  ['https://bücher.example', 'https://xn--bcher-kva.example'],
  ['https://xn--bcher-kva.example/', 'https://xn--bcher-kva.example'],
  ['https://a。example', 'https://a.example'],
  ['https://%61.example', 'https://a.example'],
  ['https://127.0.0.1:3000', 'https://127.0.0.1:3000'],
  ['https://0x7f.1', 'https://127.0.0.1'],
  ['https://[::1]', 'https://[::1]'],
  ['https://[0:0:0:0:0:0:0:1]:443', 'https://[::1]'],
  [`https://${'a'.repeat(63)}.example`, `https://${'a'.repeat(63)}.example`],
]

for (const [text, origin] of same) {
  test(`${text} is ${origin}`, () => {
    assert.equal(canonicalOrigin(text), origin)
    assert.equal(canonicalOrigin(origin), origin)
  })
}

const refused: readonly unknown[] = [
  '',
  'a.example',
  '//a.example',
  'https:',
  'https://',
  'https:///',
  'https:a.example',
  'https:/a.example',
  'https:\\\\a.example',
  'https://a.example\\',
  'http://a.example',
  'ftp://a.example',
  'file:///etc/passwd',
  'javascript:alert(1)',
  'https://user@a.example',
  'https://user:word@a.example',
  'https://@a.example',
  'https://a.example?',
  'https://a.example?x=1',
  'https://a.example#',
  'https://a.example/#x',
  'https://a.example//',
  'https://a.example/.',
  'https://a.example/path',
  'https://a.example.',
  'https://a.example./',
  'https://a.example。',
  'https://a..example',
  'https://.a.example',
  'https://a.example:65536',
  'https://a.example:x',
  ' https://a.example',
  'https://a.example ',
  'https://a.exa\nmple',
  'https://a.exa\tmple',
  'https://a.example\0',
  'https://a b.example',
  'https://1.2.3.4.5',
  'https://[::1',
  'https://[fe80::1%25eth0]',
  `https://${'a'.repeat(60)}.${'b'.repeat(60)}.${'c'.repeat(60)}.${'d'.repeat(60)}.${'e'.repeat(60)}`,
  undefined,
  null,
  42,
  {},
  ['https://a.example'],
]

for (const text of refused) {
  test(`${JSON.stringify(text)} does not name a server`, () => {
    assert.throws(() => canonicalOrigin(text as string), { name: 'FederationError', code: 'ORIGIN_INVALID' })
  })
}

test('http only if it is allowed', () => {
  assert.equal(canonicalOrigin('http://LOCALHOST:80/', { allowHttp: true }), 'http://localhost')
  assert.equal(canonicalOrigin('http://127.0.0.1:3000', { allowHttp: true }), 'http://127.0.0.1:3000')
  assert.equal(canonicalOrigin('https://a.example', { allowHttp: true }), 'https://a.example')
  assert.throws(() => canonicalOrigin('ws://a.example', { allowHttp: true }), { code: 'ORIGIN_INVALID' })
})

test('the origin of a URL with a path', () => {
  assert.equal(originOfUrl('https://A.example:443/inbox?x=1#y'), 'https://a.example')
  assert.equal(originOfUrl('https://a.example?x=user@b.example'), 'https://a.example')
  assert.equal(originOfUrl('https://a.example/@user'), 'https://a.example')
  for (const text of [
    'https://a.example@b.example/inbox',
    'https://a.example\\@b.example/',
    'http://a.example/inbox',
    '/inbox',
  ]) {
    assert.throws(() => originOfUrl(text), { code: 'ORIGIN_INVALID' }, text)
  }
})

test('the error does not quote its input', () => {
  assert.throws(
    () => canonicalOrigin('https://a.example?token=canary'),
    (error: Error) => !error.message.includes('canary'),
  )
})

test('an http origin that was allowed once is refused where http is not allowed', () => {
  assert.equal(canonicalOrigin('http://Known.example', { allowHttp: true }), 'http://known.example')
  assert.throws(() => canonicalOrigin('http://Known.example'), { code: 'ORIGIN_INVALID' })
  assert.equal(canonicalOrigin('https://Known.example/'), 'https://known.example')
})
