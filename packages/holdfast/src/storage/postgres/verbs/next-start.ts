// What a claim of a type would start next (count, `next`): from the heads of the indexes that claims go along. Nothing is locked.

import { emptyGroup } from '../../rules/flow.ts'
import { stateCodes } from '../../rules/job/codes.ts'
import { type GroupInTurn, nextOf, nextOfNone } from '../../rules/next-start.ts'
import type { NextQuery, NextStart } from '../../storage.ts'
import type { Connection, Statement } from '../connection/database.ts'
import { decodeFlow } from '../rules/flow.ts'
import { type GroupRow, groupStateOf, pausedOf } from '../rules/group.ts'
import { runningOf } from '../sql/flow-statements.ts'
import { groupTexts } from '../sql/group-statements.ts'
import { readyCodes } from '../sql/job-columns.ts'
import { alongIndex, isAside, isInRing, priorities } from '../sql/scan.ts'
import { columns, param, type Sql } from '../sql/statement.ts'
import { decodeOptionalText, decodeText, encodeOptionalText, numberOf } from '../sql/text.ts'
import type { OpenStorage } from './open-storage.ts'

/** One row. $1: number of the type, or NULL if it is not stored; $2: key of a group, or NULL. */
export function nextStartStatement({ at, now, statement }: Sql): Statement {
  const key = param(2, 'text')
  const firstOf = (condition: string): string => `
      (SELECT j.id FROM ${priorities('t.priorities')} AS p CROSS JOIN LATERAL (
        SELECT j.id FROM ${at}jobs AS j
        WHERE j.tid = w.tid AND ${condition} AND j.priority = p.priority AND j.run_at <= clock.now
        ORDER BY j.run_at, j.ord LIMIT 1) AS j LIMIT 1)`
  return statement(
    'next_start',
    `
  SELECT ${columns(
    'clock.now',
    't.tid',
    't.paused_since',
    't.paused_by',
    't.flow',
    runningOf(at),
    `(SELECT lease_until FROM ${at}jobs AS j
      WHERE j.tid = w.tid AND ${alongIndex(`j.state = ${stateCodes.processing}`, 'j')} AND (j.grp IS NULL OR (
        SELECT g.paused_since FROM ${at}groups AS g WHERE g.tid = j.tid AND g.key = j.grp LIMIT 1) IS NULL)
      ORDER BY lease_until LIMIT 1)`,
    firstOf(alongIndex(`j.ready = ${readyCodes.ready}`, 'j')),
    `(SELECT json_agg(json_build_array(r.key, r.turn_at, r.turn) ORDER BY r.turn_at, r.turn) FROM (
        SELECT g.key, g.turn_at, g.turn FROM ${at}groups AS g
        WHERE g.tid = w.tid AND ${isInRing} AND g.turn_at <= clock.now ORDER BY g.turn_at, g.turn LIMIT 2) AS r)`,
    `(SELECT json_build_array(${groupTexts('g')}) FROM ${at}groups AS g WHERE g.tid = w.tid AND g.key = ${key})`,
    `(SELECT m.id FROM ${at}jobs AS m
      WHERE m.tid = w.tid AND m.grp = ${key} AND m.grp IS NOT NULL AND m.state < ${stateCodes.completed} ORDER BY m.seq LIMIT 1)`,
    firstOf(`j.grp = ${key} AND ${isAside('j')}`),
  )}
  FROM (SELECT ${now} AS now) AS clock CROSS JOIN (SELECT ${param(1, 'integer')} AS tid) AS w
  LEFT JOIN LATERAL (SELECT * FROM ${at}types AS t WHERE t.tid = w.tid LIMIT 1) AS t ON true`,
  )
}

/** With the time. */
export async function nextStart(
  { types, statements }: OpenStorage,
  connection: Connection,
  query: NextQuery,
): Promise<{ readonly now: number; readonly next: NextStart }> {
  await types.find(connection, [query.type])
  const params = [types.tidOf(query.type) ?? null, encodeOptionalText(query.group)]
  const [row] = await connection.query(statements.nextStart, params)
  const [time, tid, since, by, flow, running, leaseEnd, line, ring, group, head, best] = row!
  const now = Number(time)
  if (tid === null) return { now, next: nextOfNone(query, now) }
  const state = group === null ? emptyGroup : groupStateOf(JSON.parse(group!) as GroupRow)
  const facts = {
    paused: pausedOf(since!, by!),
    flow: decodeFlow(flow!).flow,
    running: Number(running),
    leaseEnd: numberOf(leaseEnd!) ?? Infinity,
    line: decodeOptionalText(line!),
    due: undefined,
    turns: ring === null ? [] : (JSON.parse(ring!) as [string, number, number][]).map(groupInTurn),
    group: query.group === undefined ? undefined : { state, job: decodeOptionalText(state.ordered ? head! : best!) },
  }
  return { now, next: nextOf(query, facts, now) }
}

const groupInTurn = ([key, turnAt, turn]: readonly [string, number, number]): GroupInTurn => ({
  key: decodeText(key),
  turnAt,
  turn,
})
