// A ById answers as a plain list of its items does, whatever comes and goes.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ById } from '../../src/queue/by-id.ts'

for (const [about, hash] of [
  ['', undefined],
  ['although all ids collide, ', () => 0],
] as const) {
  test(`${about}items are found by their ids, whatever was added and deleted before`, () => {
    const ids = ['a', 'b', 'c']
    let seed = 1
    const random = (below: number): number => (seed = (seed * 48_271) % 2_147_483_647) % below
    const items = new ById<{ readonly id: string }>(hash)
    let model: { readonly id: string }[] = []
    for (let step = 0; step < 5_000; step++) {
      // Seldom many at a time, so that it is often empty and often has one.
      if (random(5) < (model.length === 0 ? 5 : 2)) {
        const item = { id: ids[random(3)]! }
        items.add(item)
        model.push(item)
      } else {
        const gone = model[random(model.length)]!
        items.delete(gone)
        model = model.filter((item) => item !== gone)
      }
      assert.equal(items.isEmpty, model.length === 0)
      assert.deepEqual(new Set(items), new Set(model))
      assert.deepEqual(new Set(items.ids()), new Set(model.map(({ id }) => id)))
      for (const id of ids) {
        const found = [...items.of(id)]
        assert.equal(found.length, new Set(found).size)
        assert.deepEqual(new Set(found), new Set(model.filter((item) => item.id === id)))
      }
    }
  })
}

test('items that are deleted while they are iterated over are each met once', () => {
  for (const count of [1, 2, 5]) {
    const items = new ById<{ readonly id: string }>()
    for (let n = 0; n < count; n++) items.add({ id: n % 2 === 0 ? 'a' : 'b' })
    let met = 0
    for (const item of items) {
      met++
      items.delete(item)
    }
    assert.equal(met, count)
    assert.ok(items.isEmpty)
  }
})
