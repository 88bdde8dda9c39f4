// app/health/[probe]/route.ts of a Next.js app: answers GET /health/live and GET /health/ready.

import { healthHandler } from 'holdfast'
import { queue } from './queue.ts'

export const GET = healthHandler(queue)
