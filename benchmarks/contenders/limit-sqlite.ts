import { limitOnSqlite } from '../sessions/limit-sqlite.ts'

export const contender = limitOnSqlite('limit', 'full')
