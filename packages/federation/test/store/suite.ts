// The suite of the store, on whatever is given.

import { test } from 'node:test'
import { lifeCases } from './life-cases.ts'
import { rowCases } from './row-cases.ts'
import type { Case, Subject } from './subject.ts'

const all: readonly Case[] = [...rowCases, ...lifeCases]

/** @param cases of ways that differ in how they connect alone: those of life */
export function testStore(name: string, create: () => Promise<Subject>, cases: 'all' | 'life' = 'all'): void {
  for (const { name: what, needs, run } of cases === 'all' ? all : lifeCases) {
    test(`${name}: ${what}`, async (t) => {
      const subject = await create()
      t.after(() => subject.close())
      if (needs === 'storage' && !subject.storage) return t.skip('it has no storage')
      await run(subject)
    })
  }
}
