import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isHoldfastError } from 'holdfast'
import { addressRule } from '../../src/http/address-rule.ts'
import { hostileAddresses, publicAddresses } from '../security/hostile.ts'

test('every range that is not public is refused, at both ends', () => {
  const admits = addressRule()
  for (const address of hostileAddresses) assert.equal(admits(address), false, address)
})

test('public addresses pass, also those beside a refused range', () => {
  const admits = addressRule()
  for (const address of publicAddresses) assert.equal(admits(address), true, address)
})

test('text that is not an address is refused', () => {
  const admits = addressRule(['0.0.0.0/0', '::/0'])
  for (const text of ['', 'localhost', '1.2.3', '1.2.3.4.5', '01.2.3.4', 'fe80::1%eth0', '[::1]', '8.8.8.8 ']) {
    assert.equal(admits(text), false, text)
  }
})

test('an allowed range passes, and nothing else', () => {
  const admits = addressRule(['127.0.0.0/8', '10.1.0.0/16', 'fd00::/64'])
  for (const address of ['127.0.0.1', '127.255.0.9', '10.1.2.3', 'fd00::1', '8.8.8.8'])
    assert.ok(admits(address), address)
  for (const address of ['10.2.0.1', 'fd00:0:0:1::1', '::1', '192.168.0.1']) assert.ok(!admits(address), address)
})

test('a range of one family does not allow mapped addresses of the other', () => {
  assert.equal(addressRule(['127.0.0.0/8'])('::ffff:127.0.0.1'), false)
  assert.equal(addressRule(['::ffff:0:0/96'])('127.0.0.1'), false)
  assert.equal(addressRule(['::ffff:0:0/96'])('::ffff:127.0.0.1'), true)
})

test('an invalid range is refused at creation', () => {
  for (const cidr of [
    '127.0.0.1',
    '10.0.0.0/33',
    '::/129',
    '10.0.0.0/',
    'localhost/8',
    '/8',
    '',
    '10.0.0.0/-1',
    'fe80::%lo/64',
  ]) {
    assert.throws(
      () => addressRule([cidr]),
      (error) => isHoldfastError(error, 'INVALID_ARGUMENT'),
      cidr,
    )
  }
})
