// The suite of the store, on whatever is given.

import { test } from 'node:test'
import { lifeCases } from './life-cases.ts'
import { rowCases } from './row-cases.ts'
import type { Case, Subject } from './subject.ts'

const all: readonly Case[] = [...rowCases, ...lifeCases]

/** @param cases `life`: of ways that differ in how they connect alone; `shared`: of those that share a storage, too */
export function testStore(
  name: string,
  create: () => Promise<Subject>,
  cases: 'all' | 'life' | 'shared' = 'all',
): void {
  const chosen = (cases === 'all' ? all : lifeCases).filter(({ needs }) => needs === undefined || cases === 'shared')
  for (const { name: what, run } of chosen) {
    test(`${name}: ${what}`, async (t) => {
      const subject = await create()
      t.after(() => subject.close())
      await run(subject)
    })
  }
}
