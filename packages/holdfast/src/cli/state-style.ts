// The colour of each state.

import type { JobState } from '../storage/storage.ts'
import type { Style } from './text.ts'

export const stateStyle: Readonly<Record<JobState, Style>> = {
  scheduled: 'dim',
  blocked: 'dim',
  queued: 'bold',
  processing: 'cyan',
  failing: 'yellow',
  completed: 'green',
  failed: 'red',
  cancelled: 'dim',
}
