// The table peer_states: the state of each peer that was contacted, in the profile `hardened`. Changes are compare-and-set.

import type { PeerState } from '../peers/peer-state.ts'
import type { Row } from './database.ts'
import type { PeerStateStore } from './store.ts'
import type { Tables } from './tables.ts'

export function peerStateTable({ statements, read, write }: Tables): PeerStateStore {
  const sql = statements.peerStates
  const find = async (origin: string): Promise<Row | undefined> => (await read(sql.get, [origin]))[0]
  return {
    async get(origin) {
      const row = await find(origin)
      return row && stateOf(row)
    },
    async change(origin, now, next) {
      for (;;) {
        const row = await find(origin)
        const before = row && stateOf(row)
        const after = next(before, row && Number(row[5]))
        if (after === undefined) return before!
        const { state, failures, firstFailedAt, lastSuccessAt, nextContactAt, goneProbes, goneSince } = after
        const instants = [firstFailedAt, lastSuccessAt, nextContactAt, now]
        const values = [origin, state, failures, ...instants, goneProbes, goneSince]
        const written = await (row ? write(sql.update, [...values, Number(row[6])]) : write(sql.insert, values))
        if (written.length > 0) return after
        // Another process changed it meanwhile.
      }
    },
    async expire(before, limit) {
      return (await write(sql.expire, [before, limit])).length
    },
    async evict(keep, limit) {
      return (await write(sql.evict, [keep, limit])).length
    },
    async counts() {
      return Object.fromEntries((await read(sql.counts, [])).map(([state, count]) => [state, Number(count)]))
    },
  }
}

const instant = (cell: string | null | undefined): number | undefined => (cell == null ? undefined : Number(cell))

const stateOf = (row: Row): PeerState => ({
  state: row[0] as PeerState['state'],
  failures: Number(row[1]),
  firstFailedAt: instant(row[2]),
  lastSuccessAt: instant(row[3]),
  nextContactAt: Number(row[4]),
  goneProbes: Number(row[7]),
  goneSince: instant(row[8]),
})
