import assert from 'node:assert/strict'
import { test } from 'node:test'
import { classifyTransportError } from '../../src/peers/classify.ts'

const coded = (code: string): Error => Object.assign(new Error(code), { code })
const named = (name: string): Error => Object.assign(new Error(name), { name })

const table: readonly (readonly [reason: string, errors: readonly unknown[]])[] = [
  ['DNS_BLOCKED', [coded('ENOTFOUND'), coded('EAI_AGAIN')]],
  ['TIMEOUT', [named('AbortError'), named('TimeoutError'), AbortSignal.abort().reason]],
  ['CONN_REFUSED', [coded('ECONNREFUSED')]],
  ['CONN_RESET', [coded('ECONNRESET'), coded('ETIMEDOUT'), coded('EPIPE')]],
  [
    'TLS_ERROR',
    [
      ...['ERR_TLS_CERT_ALTNAME_INVALID', 'ERR_SSL_WRONG_VERSION_NUMBER', 'CERT_HAS_EXPIRED', 'CERT_NOT_YET_VALID'].map(
        coded,
      ),
      ...['DEPTH_ZERO_SELF_SIGNED_CERT', 'SELF_SIGNED_CERT_IN_CHAIN', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'].map(coded),
      ...['UNABLE_TO_GET_ISSUER_CERT', 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'EPROTO'].map(coded),
    ],
  ],
  [
    'UNKNOWN',
    [coded('EHOSTUNREACH'), coded('HPE_INVALID_CONSTANT'), coded('constructor'), new Error('x'), 'x', undefined, null],
  ],
]

for (const [reason, errors] of table) {
  test(`${reason}: ${errors.length} errors`, () => {
    for (const error of errors) assert.equal(classifyTransportError(error), reason, String(error))
  })
}

test('a wrapped error is classified by its cause, unless it has a code itself', () => {
  assert.equal(classifyTransportError(new Error('x', { cause: coded('ECONNREFUSED') })), 'CONN_REFUSED')
  const itself = new Error('x')
  itself.cause = itself
  assert.equal(classifyTransportError(itself), 'UNKNOWN')
})
