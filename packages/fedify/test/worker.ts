// A worker of a server in its own process, to be killed: `worker.ts <spec> <name>`.

import { endWithParent } from '../../holdfast/test/processes/end-with-parent.ts'
import { type Spec, storageMaker } from '../../holdfast/test/processes/spec.ts'
import { openSite } from '../example/server.ts'

endWithParent()

const [spec, name] = process.argv.slice(2) as [string, string]
const storage = await storageMaker(JSON.parse(spec) as Spec)
const { federation } = openSite(storage(), name, { leaseMs: 1_000 })
await federation.startQueue(undefined)
