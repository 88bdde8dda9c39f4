import { limitOnRedis } from '../sessions/limit-redis.ts'
import { claimsAhead } from '../sessions/limit.ts'

export const contender = limitOnRedis(claimsAhead(500, 50))
