// The plan follows from the seed and uses every kill point once before any is repeated.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { kindNames, kinds, orderOf } from './jobs.ts'
import { faultKinds, Plan } from './plan.ts'
import { proxyFaultNames, proxyFaults } from './proxy-faults.ts'
import { nameOf, type Point, parsePoint, pointNames, type Role, roles, written } from './points.ts'

function drawn(plan: Plan, role: Role, slot: number, count: number): Point[] {
  const points: Point[] = []
  while (points.length < count) {
    const point = plan.nextPoint(role, slot)
    if (point) points.push(point)
  }
  return points
}

function faultsOf(seed: number): unknown[] {
  const plan = new Plan(seed, faultKinds)
  const ofServer = [plan.nextServerKill(), plan.nextSession(), plan.nextProxyFault(), plan.nextProxyFault()]
  return [plan.nextKill(), plan.nextStop(1_000), ...ofServer, ...drawn(plan, 'worker', 0, 10)]
}

test('the same seed gives the same plan, another seed another plan', () => {
  assert.deepEqual(faultsOf(7), faultsOf(7))
  assert.notDeepEqual(faultsOf(7), faultsOf(8))
})

for (const role of roles) {
  test(`every kill point of ${role} processes is used`, () => {
    const names = drawn(new Plan(1, faultKinds), role, 0, pointNames[role].length).map(nameOf)
    assert.deepEqual(names.toSorted(), pointNames[role].toSorted())
  })
}

test('every connection fault is used, within its allowed duration', () => {
  const plan = new Plan(1, faultKinds)
  const faults = proxyFaultNames.map(() => plan.nextProxyFault())
  assert.deepEqual(faults.map(({ fault }) => fault).toSorted(), proxyFaultNames.toSorted())
  for (const { fault, forMs } of faults) {
    const [low, high] = proxyFaults[fault].ms
    assert.ok(forMs >= low && forMs <= high, `${fault}: ${forMs}`)
  }
})

test('a kill point that was not reached is used next', () => {
  const plan = new Plan(1, faultKinds)
  const [point] = drawn(plan, 'producer', 0, 1)
  plan.giveBack('producer', point!)
  assert.equal(nameOf(drawn(plan, 'producer', 0, 1)[0]!), nameOf(point!))
})

test('only the worker with the Reaper gets the kill points of the Reaper', () => {
  const names = drawn(new Plan(1, faultKinds), 'worker', 1, 200).map(nameOf)
  assert.ok(!names.includes('recover:before') && !names.includes('kv.cas:applied'))
})

test('a kill point is parsed from its text', () => {
  assert.deepEqual(parsePoint('settle:applied:3'), { step: 'settle', moment: 'applied', number: 3 })
  assert.equal(written(parsePoint('kv.cas:before:1')), 'kv.cas:before:1')
  for (const wrong of ['settle', 'settle:applied', 'settle:later:1', 'settle:applied:0', 'unknown:before:1']) {
    assert.throws(() => parsePoint(wrong), /expected a kill point/)
  }
})

test('an id always gives the same order, and the shares of the kinds sum to ten thousand', () => {
  assert.deepEqual(orderOf('producer-0.1-5', 7, 1_000), orderOf('producer-0.1-5', 7, 1_000))
  assert.equal(
    kindNames.reduce((sum, name) => sum + kinds[name].share, 0),
    10_000,
  )
})
