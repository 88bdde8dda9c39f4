import { groupmq } from '../sessions/groupmq.ts'

export const contender = groupmq('groupmq autoBatch', true)
