// pause: one call of lua/pause.ts.

import type { PauseRequest } from '../../storage.ts'
import { packed } from '../codec/requests.ts'
import { durable, type ScriptRunner } from './script-runner.ts'

export async function pause(scripts: ScriptRunner, { type, group, paused, by }: PauseRequest): Promise<void> {
  await scripts.run('pause', [packed([type, group, paused, by])], durable)
}
