import { limitOnSqlite } from '../sessions/limit-sqlite.ts'
import { bySlots } from '../sessions/limit.ts'

export const contender = limitOnSqlite('relaxed', bySlots)
