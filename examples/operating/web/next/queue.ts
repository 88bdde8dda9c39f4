// lib/queue.ts of a Next.js app. Next bundles instrumentation and routes apart, so that this module may be loaded more than once in
// one process: globalThis keeps one queue for all of them.

import { newMailQueue } from '../mail-queue.ts'

const shared = globalThis as { mailQueue?: ReturnType<typeof newMailQueue> }
export const queue = (shared.mailQueue ??= newMailQueue())
