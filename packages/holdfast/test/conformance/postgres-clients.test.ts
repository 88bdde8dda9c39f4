// The other ways to reach Postgres: postgres.js, and PgBouncer in transaction mode. They differ in how a call is sent
// and how a hint returns, so each runs the cases about that, and a different tenth of all others. To run all cases:
// `npm run conformance -- --driver postgres-js`, or `pgbouncer`.

import { after, test } from 'node:test'
import { findPgbouncer } from '../../../../servers/find.ts'
import { testStorage } from '../../../conformance/src/index.ts'
import { drivers } from '../drivers.ts'
import { stopPostgres } from '../postgres-subject.ts'

after(stopPostgres)

for (const [turn, way] of ['postgres-js', 'pgbouncer'].entries()) {
  const skip =
    way === 'pgbouncer' && !findPgbouncer() ? 'pgbouncer is not on the PATH, and PGBOUNCER is not set' : false
  let [seen, taken] = [0, 0]
  await testStorage({
    create: () => drivers[way]!(),
    test: (name, run) => {
      if (seen++ % 10 !== turn && !/^(connect|listen|transaction): /.test(name)) return
      taken++
      test(`${way}: ${name}`, { skip }, run)
    },
  })
  test('the number of cases', (context) => context.diagnostic(`conformance: ${way}: ${taken} cases`))
}
