import { limitOnPostgres } from '../sessions/limit-postgres.ts'
import { claimsAhead } from '../sessions/limit.ts'

export const contender = limitOnPostgres(claimsAhead(500))
