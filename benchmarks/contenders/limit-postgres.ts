import { limitOnPostgres } from '../sessions/limit-postgres.ts'
import { bySlots } from '../sessions/limit.ts'

export const contender = limitOnPostgres(bySlots)
