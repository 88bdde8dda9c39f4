// As rules/job/states.ts: which states wait, and which are terminal.

import { stateCodes as state } from '../../../rules/job/codes.ts'

export const states = `
local function is_terminal(state) return state >= ${state.completed} end
local function is_waiting(state)
  return state == ${state.queued} or state == ${state.scheduled} or state == ${state.failing}
end
`
