// app/jobs/[[...path]]/route.ts of a Next.js app: the dashboard at /jobs, in the Node.js runtime.

import { createDashboard } from '@holdfast/dashboard'
import { authorize } from './authorize.ts'
import { storage } from './mail-queue.ts'

// Next bundles routes apart, so that this module may be loaded more than once in one process.
const shared = globalThis as { dashboard?: ReturnType<typeof createDashboard> }
const dashboard = (shared.dashboard ??= createDashboard({ storage, authorize, basePath: '/jobs', logger: console }))

export const runtime = 'nodejs'
export const dynamic = 'force-dynamic'
export const GET = (request: Request): Promise<Response> => dashboard(request)
export const POST = (request: Request): Promise<Response> => dashboard(request)
