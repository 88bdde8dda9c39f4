// Tests the suite itself: each broken driver fails the case written against its fault, and the sound driver passes it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Case, cases, runCase } from '../../../conformance/src/index.ts'
import { drivers } from '../drivers.ts'
import { brokenDrivers, openBroken } from './broken-drivers.ts'
import { isFull } from '../full-size.ts'

// Without the cases about hints: a driver may lose hints, and a case that waits for a lost one takes long.
const all = Object.entries(cases).flatMap(([verb, list]) =>
  list.flatMap((item) => (verb === 'listen' || item.needs?.length ? [] : [{ name: `${verb}: ${item.name}`, item }])),
)
/** Cases with thousands of jobs, which only the drivers broken in that way run. */
const isAboutCost = ({ proves = [] }: Case): boolean => proves.includes('chains trap 4')
/** Also count the cases that catch each driver, which takes a minute. */
const countsAll = isFull
const table: string[] = []

for (const driver of brokenDrivers) {
  const { name, caughtBy } = driver
  const isCaughtBy = ({ item }: (typeof all)[number]): Promise<boolean> =>
    runCase(item, () => openBroken(driver)).then(
      () => false,
      () => true,
    )
  const catchers = async (): Promise<string[]> => {
    const tried = all.filter((one) => one.name === caughtBy || !isAboutCost(one.item))
    const caught = await Promise.all(tried.map(isCaughtBy))
    return tried.flatMap((one, index) => (caught[index] ? [one.name] : []))
  }
  test(`${name} is caught`, async () => {
    const named = all.find((other) => other.name === caughtBy)
    assert.ok(named, `there is no case '${caughtBy}'`)
    await runCase(named.item, drivers.memory!)
    const isCaught = await isCaughtBy(named)
    if (!isCaught || countsAll) {
      const names = await catchers()
      assert.ok(isCaught, `'${caughtBy}' passes on it; these cases fail: ${names.slice(0, 5).join('; ') || 'none'}`)
      table.push(`${name.padEnd(40)} ${String(names.length).padStart(4)} of ${all.length} cases`)
    }
  })
}

test('every broken driver has a name of its own', (context) => {
  assert.equal(new Set(brokenDrivers.map(({ name }) => name)).size, brokenDrivers.length)
  for (const line of table) context.diagnostic(line)
  context.diagnostic(`conformance: ${brokenDrivers.length} broken drivers`)
})
