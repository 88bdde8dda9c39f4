// A replica is promoted after its replication link was cut: what was acknowledged as replicated is there, whatever the primary had
// besides. Without `replicated` the tail is lost: it is counted, so that one sees that the link was cut.

import { openCluster, serveCluster } from '../../cluster-service.ts'
import { Workload } from '../workload.ts'
import { type Pair, postgresPair, redisPair } from './replicated-pair.ts'
import type { ScenarioContext, ScenarioResult } from './scenario.ts'

export async function run({ driver, seconds }: ScenarioContext): Promise<ScenarioResult> {
  if (driver === 'cluster') return inCluster(seconds)
  const start = driver === 'redis' ? redisPair : postgresPair
  const relaxed = await failOver(await start(), false)
  const replicated = await failOver(await start(), true)
  return {
    faults: 2,
    violations: [...relaxed.wrong, ...replicated.wrong],
    note: `durability of the primary alone: ${relaxed.lost} of ${relaxed.acked} acknowledged jobs lost with the tail; replicated: ${replicated.lost} of ${replicated.acked}`,
  }
}

async function failOver(pair: Pair, isReplicated: boolean) {
  const workload = new Workload({ open: () => pair.open(isReplicated) })
  const wrong: string[] = []
  try {
    await workload.start()
    if (!(await workload.goesOn(100, 30_000))) wrong.push('no job was completed before the failover')
    // What is acknowledged between this and the cut may be part of the tail.
    const kept = new Set(workload.acked)
    await pair.received()
    await pair.cutLink()
    // Acknowledged by a primary that no replica hears any more; with `replicated` nothing is.
    await new Promise((resolve) => void setTimeout(resolve, 1_500))
    await pair.promote()
    if (!(await workload.goesOn(50, 60_000))) wrong.push('no job was completed after the failover')
    const acked = workload.acked.size
    const { wrong: found, lost } = await workload.end({
      mayLose: (id) => !isReplicated && !kept.has(id),
      mayRepeat: !isReplicated,
    })
    if (!isReplicated && lost === 0) wrong.push('no job was lost: the replication link was not cut')
    const kind = isReplicated ? 'replicated' : 'primary alone'
    return { wrong: [...wrong, ...found].map((sentence) => `${kind}: ${sentence}`), lost, acked }
  } finally {
    await pair.stop()
  }
}

/** The node that has the data is killed, and its replica promoted, several times. */
async function inCluster(seconds: number): Promise<ScenarioResult> {
  const service = await serveCluster([])
  const workload = new Workload({ open: () => openCluster(service.url) })
  const violations: string[] = []
  const rounds = Math.max(2, Math.floor(seconds / 10))
  await workload.start()
  for (let round = 0; round < rounds; round++) {
    if (!(await workload.goesOn(30, 60_000))) violations.push(`round ${round}: no job was completed for 60 s`)
    await service.kill()
    await service.restart()
  }
  const { wrong } = await workload.end()
  await service.stop(`${process.env.TMPDIR ?? '/tmp'}/holdfast-cluster-logs-${process.pid}`)
  return { faults: rounds, violations: [...violations, ...wrong], note: `${workload.acked.size} jobs, replicated` }
}
