import type { JobState } from 'holdfast/storage'

export const isTerminal = (state: JobState): boolean =>
  state === 'completed' || state === 'failed' || state === 'cancelled'
