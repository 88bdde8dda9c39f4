// extend: one call of lua/extend.ts.

import { checkExtensions } from '../../check.ts'
import { refusalNames } from '../../rules/job/codes.ts'
import type { Extension, LeaseVerdict } from '../../storage.ts'
import { leaseCodes } from '../codec/codes.ts'
import { type List, optionalText } from '../codec/fields.ts'
import { packed, packReport } from '../codec/requests.ts'
import type { Unpacked } from '../codec/unpack.ts'
import type { ScriptRunner } from './script-runner.ts'

export async function extend(scripts: ScriptRunner, leases: readonly Extension[]): Promise<LeaseVerdict[]> {
  checkExtensions(leases)
  const asked = leases.map((lease) => {
    const { type, id, worker, attempt, leaseMs } = lease
    return [type, id, worker, attempt, leaseMs, packReport(lease)]
  })
  const [, answers] = await scripts.ask('extend', [packed(asked)])
  return (answers as List).map(leaseVerdict)
}

function leaseVerdict(answer: Unpacked): LeaseVerdict {
  const [kind, value, reason] = answer as [number, number, Unpacked]
  if (kind === leaseCodes.refused) return { verdict: refusalNames[value]! }
  if (kind === leaseCodes.extended) return { verdict: 'extended', until: value }
  return { verdict: 'cancelling', until: value, reason: optionalText(reason) }
}
