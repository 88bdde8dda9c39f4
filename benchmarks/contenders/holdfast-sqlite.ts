import { holdfastOnSqlite } from '../sessions/holdfast-sqlite.ts'

export const contender = holdfastOnSqlite('holdfast', 'full')
