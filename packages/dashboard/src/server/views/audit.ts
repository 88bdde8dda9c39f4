// Who changed what.

import type { Answer, AuditPage } from '../../shared/api.ts'
import { answerOf, type Call, type Context } from '../route.ts'

const [auditMs, pageSize] = [2_000, 100]

export async function audit({ reads, handles }: Context, { query }: Call): Promise<Answer<AuditPage>> {
  const cursor = query.get('cursor') ?? undefined
  const read = await reads.read(JSON.stringify(['audit', cursor]), auditMs, () =>
    handles.reader.audit.list({ limit: pageSize, cursor }),
  )
  return answerOf(read, (page) => page)
}
