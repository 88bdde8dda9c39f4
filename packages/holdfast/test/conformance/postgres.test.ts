import { after, test } from 'node:test'
import { testStorage } from '../../../conformance/src/index.ts'
import { drivers } from '../drivers.ts'
import { stopPostgres } from '../postgres-subject.ts'

after(stopPostgres)

const count = await testStorage({ test, create: () => drivers.postgres!() })

test('the number of cases', (context) => context.diagnostic(`conformance: postgres: ${count} cases`))
