// A test of one bad history: the checks that find it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { check } from './checks/index.ts'
import type { History } from './history.ts'

const found = (history: History): string[] => check(history).map((violation) => violation.check)

/** @param name the check that must find it; undefined: none may */
export function expectChecks(name: string | undefined, what: string, history: () => History): void {
  test(`${name === undefined ? 'allowed' : `found (${name})`}: ${what}`, () => {
    const checks = found(history())
    if (name === undefined) assert.deepEqual(checks, [])
    else assert.ok(checks.includes(name), String(checks))
  })
}
