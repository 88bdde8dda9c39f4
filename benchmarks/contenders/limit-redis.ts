import { limitOnRedis } from '../sessions/limit-redis.ts'
import { bySlots } from '../sessions/limit.ts'

export const contender = limitOnRedis(bySlots)
