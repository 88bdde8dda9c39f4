import { plainjob } from '../sessions/plainjob.ts'

export const contender = plainjob('plainjob FULL', 'full')
