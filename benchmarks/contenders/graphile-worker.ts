import { graphileWorker } from '../sessions/graphile-worker.ts'

export const contender = graphileWorker('graphile-worker', false)
