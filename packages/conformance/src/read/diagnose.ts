// diagnose: what a driver finds about itself and its server. Which findings there are depends on the server.

import assert from 'node:assert/strict'
import type { Case } from '../case.ts'

export const diagnoseCases: readonly Case[] = [
  {
    name: 'diagnose: each finding says what was found and what to do',
    proves: ['F33'],
    run: async ({ storage }) => {
      for (const { code, severity, sentence, fix } of (await storage.diagnose?.()) ?? []) {
        assert.match(code, /^[a-z]+(_[a-z]+)*$/)
        assert.ok(severity === 'error' || severity === 'warning', severity)
        assert.ok(sentence.length > 10 && fix.length > 10, `${code}: ${sentence}, ${fix}`)
      }
    },
  },
  {
    name: 'diagnose: a closed storage rejects it',
    proves: ['F33'],
    run: async ({ storage }) => {
      if (!storage.diagnose) return
      await storage.disconnect()
      try {
        // A storage in memory is never closed.
        const isClosed = await storage.get([{ type: 'any', id: 'a' }]).then(
          () => false,
          () => true,
        )
        if (isClosed) await assert.rejects(storage.diagnose(), { code: 'STORAGE_CLOSED' })
      } finally {
        await storage.connect()
      }
    },
  },
]
