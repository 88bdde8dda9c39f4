// A worker of a server in its own process, to be killed: `worker.ts <spec> <name>`.

import { type Spec, storageOf } from '../../holdfast/test/processes/spec.ts'
import { openSite } from '../example/server.ts'

const [spec, name] = process.argv.slice(2) as [string, string]
const { federation } = openSite(storageOf(JSON.parse(spec) as Spec), name, { leaseMs: 1_000 })
await federation.startQueue(undefined)
