// Who may use the dashboard of these examples: ada, with the password of the environment. The browser asks for it.

import { createHash, timingSafeEqual } from 'node:crypto'
import type { Authorize } from '@holdfast/dashboard'

const password = process.env.DASHBOARD_PASSWORD
if (!password) throw new Error('Set DASHBOARD_PASSWORD.')
const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
const expected = digest(`Basic ${Buffer.from(`ada:${password}`).toString('base64')}`)

export const authorize: Authorize = (request) => {
  const given = digest(request.headers.get('authorization') ?? '')
  if (timingSafeEqual(given, expected)) {
    return { actor: 'ada', can: ['view', 'viewPayload', 'revive', 'cancel', 'pause', 'schedules'] }
  }
  return new Response('Who are you?', { status: 401, headers: { 'www-authenticate': 'Basic realm="jobs"' } })
}
