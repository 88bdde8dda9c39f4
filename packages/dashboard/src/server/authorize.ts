// Who sends a request, and what they may do. Invariant: whatever `authorize` does, nothing is granted that it did not name.

import { type Permission, permissions } from '../shared/permissions.ts'
import { forbidden } from './http/errors.ts'
import type { Authorize } from './options.ts'

export interface Granted {
  readonly actor: string
  readonly can: ReadonlySet<Permission>
}

/** @returns a Response that authorize() wants sent @throws RequestError 403 */
export async function authorized(
  authorize: Authorize | undefined,
  request: Request,
  onInternal: (error: unknown) => void,
): Promise<Granted | Response> {
  if (!authorize) {
    throw forbidden(
      'NO_AUTHORIZE',
      'The dashboard refuses every request until createDashboard() is given authorize: a function of the request that returns ' +
        "{ actor, can }, such as { actor: 'ada', can: ['view', 'revive'] }.",
    )
  }
  let answer: Awaited<ReturnType<Authorize>>
  try {
    answer = await authorize(request)
  } catch (error) {
    onInternal(error)
    throw forbidden('AUTHORIZE_FAILED', 'authorize() failed, so the request is refused. The logger has the error.')
  }
  if (answer instanceof Response) return answer
  if (answer === null || answer === undefined) throw forbidden('NOT_ALLOWED', 'You may not use this dashboard.')
  const { actor, can = ['view'] } = answer
  if (typeof actor !== 'string' || actor === '' || Buffer.byteLength(actor) > 256 || !Array.isArray(can)) {
    throw forbidden(
      'AUTHORIZE_FAILED',
      'authorize() must return { actor, can }: a name of 1 … 256 bytes, and a list of permissions.',
    )
  }
  return { actor, can: new Set(permissions.filter((permission) => can.includes(permission))) }
}
