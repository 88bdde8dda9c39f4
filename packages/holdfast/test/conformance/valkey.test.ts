import { after, test } from 'node:test'
import { findValkey } from '../../../../servers/find.ts'
import { testStorage } from '../../../conformance/src/index.ts'
import { drivers } from '../drivers.ts'
import { stopPlaces } from '../redis-places.ts'

after(stopPlaces)

if (findValkey()) {
  const count = await testStorage({ test, create: drivers.valkey! })
  test('the number of cases', (context) => context.diagnostic(`conformance: valkey: ${count} cases`))
} else {
  test('conformance on Valkey', { skip: 'VALKEY_SERVER is not set: expected the path of a valkey-server' }, () => {})
}
