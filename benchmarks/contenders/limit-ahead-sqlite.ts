import { limitOnSqlite } from '../sessions/limit-sqlite.ts'
import { claimsAhead } from '../sessions/limit.ts'

export const contender = limitOnSqlite('full', claimsAhead(100, 50))
