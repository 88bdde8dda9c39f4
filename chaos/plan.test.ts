// The plan follows from the seed, and gives out every kill point before any comes a second time.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { kindNames, kinds, orderOf } from './jobs.ts'
import { faultKinds, Plan } from './plan.ts'
import { proxyFaultNames, proxyFaults } from './proxy-faults.ts'
import { nameOf, type Point, parsePoint, pointNames, type Role, written } from './points.ts'

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

test('the same seed gives the same plan, another seed another', () => {
  assert.deepEqual(faultsOf(7), faultsOf(7))
  assert.notDeepEqual(faultsOf(7), faultsOf(8))
})

for (const role of ['worker', 'producer'] as const) {
  test(`every point of a ${role} has its turn`, () => {
    const names = drawn(new Plan(1, faultKinds), role, 0, pointNames[role].length).map(nameOf)
    assert.deepEqual(names.toSorted(), pointNames[role].toSorted())
  })
}

test('every fault of a connection has its turn, for as long as it may last', () => {
  const plan = new Plan(1, faultKinds)
  const faults = proxyFaultNames.map(() => plan.nextProxyFault())
  assert.deepEqual(faults.map(({ fault }) => fault).toSorted(), proxyFaultNames.toSorted())
  for (const { fault, forMs } of faults) {
    const [low, high] = proxyFaults[fault].ms
    assert.ok(forMs >= low && forMs <= high, `${fault}: ${forMs}`)
  }
})

test('a point that was not reached is next', () => {
  const plan = new Plan(1, faultKinds)
  const [point] = drawn(plan, 'producer', 0, 1)
  plan.giveBack('producer', point!)
  assert.equal(nameOf(drawn(plan, 'producer', 0, 1)[0]!), nameOf(point!))
})

test('only the worker with the Reaper is given its points', () => {
  const names = drawn(new Plan(1, faultKinds), 'worker', 1, 200).map(nameOf)
  assert.ok(!names.includes('recover:before') && !names.includes('kv.cas:applied'))
})

test('a point reads as it is written', () => {
  assert.deepEqual(parsePoint('settle:applied:3'), { step: 'settle', moment: 'applied', number: 3 })
  assert.equal(written(parsePoint('kv.cas:before:1')), 'kv.cas:before:1')
  for (const wrong of ['settle', 'settle:applied', 'settle:later:1', 'settle:applied:0', 'unknown:before:1']) {
    assert.throws(() => parsePoint(wrong), /no such kill point/)
  }
})

test('an id always stands for the same order, and the kinds share ten thousand', () => {
  assert.deepEqual(orderOf('producer-0.1-5', 7, 1_000), orderOf('producer-0.1-5', 7, 1_000))
  assert.equal(
    kindNames.reduce((sum, name) => sum + kinds[name].share, 0),
    10_000,
  )
})
