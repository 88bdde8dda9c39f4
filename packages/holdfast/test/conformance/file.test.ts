import { test } from 'node:test'
import { testStorage } from '../../../conformance/src/index.ts'
import { drivers } from '../drivers.ts'

const count = await testStorage({ test, create: drivers.file! })

test('the number of cases', (context) => context.diagnostic(`conformance: file: ${count} cases`))
