// Finds the servers that tests and benchmarks start, and installs what is missing:   npm run servers

import { findValkey } from '../servers/find.ts'
import { installChromium, installPgbouncer, installPostgres, installRedis } from '../servers/install.ts'

try {
  console.log(`redis-server: ${installRedis()}`)
  console.log(`valkey-server: ${findValkey() ?? 'none (VALKEY_SERVER is not set)'}`)
  console.log(`postgres: ${installPostgres()}`)
  console.log(`pgbouncer: ${installPgbouncer() ?? 'none (it is not on the PATH, and PGBOUNCER is not set)'}`)
  console.log(`chromium: ${installChromium() ?? 'none (it is not on the PATH, and CHROMIUM is not set)'}`)
} catch (error) {
  console.error((error as Error).message)
  process.exit(1)
}
