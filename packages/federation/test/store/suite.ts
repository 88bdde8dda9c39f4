// The store suite, for any subject.

import { test } from 'node:test'
import { blacklistCases } from './blacklist-cases.ts'
import { deliveryCases } from './delivery-cases.ts'
import { followCases } from './follow-cases.ts'
import { inboxCases } from './inbox-cases.ts'
import { lifeCases } from './life-cases.ts'
import { peerCases } from './peer-cases.ts'
import { peerStateCases } from './peer-state-cases.ts'
import type { Case, Subject } from './subject.ts'

const all: readonly Case[] = [
  ...deliveryCases,
  ...peerCases,
  ...blacklistCases,
  ...followCases,
  ...inboxCases,
  ...peerStateCases,
  ...lifeCases,
]

/** @param cases `life`: for subjects that differ in their connection only; `shared`: also for those that share a storage */
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
