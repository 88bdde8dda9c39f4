// The suite of the store, on whatever is given.

import { test } from 'node:test'
import { lifeCases } from './life-cases.ts'
import { rowCases } from './row-cases.ts'
import type { Subject } from './subject.ts'

export function testStore(name: string, create: () => Promise<Subject>): void {
  for (const { name: what, needs, run } of [...rowCases, ...lifeCases]) {
    test(`${name}: ${what}`, async (t) => {
      const subject = await create()
      t.after(() => subject.close())
      if (needs === 'storage' && !subject.storage) return t.skip('it has no storage')
      await run(subject)
    })
  }
}
