import { test } from 'node:test'
import { drivers } from '../drivers.ts'
import { stopPostgres } from '../postgres-subject.ts'
import { stopPlaces } from '../redis-places.ts'
import { judge } from './judge.ts'
import { openRig } from './rig.ts'
import { hostileValues } from './values.ts'
const { all } = await import('./calls/all.ts')
const only = process.env.ONLY
for (const driver of (process.env.DRIVER ?? 'memory').split(','))
  test(driver, async (t) => {
    const rig = await openRig(t, () => drivers[driver]!())
    let pairs = 0, bad = 0
    const start = process.cpuUsage()
    for (const call of all.filter((c) => !only || c.name.includes(only))) {
      const found = new Map<string, string[]>()
      const at = performance.now()
      for (const value of hostileValues) {
        pairs++
        try { await judge(rig, call, value) } catch (error) {
          bad++
          const m = (error as Error).message.replace(/, got .*/s, ', got').replace(/'[^']*'|"[^"]*"/g, 'Q').replace(/file:[^ )]*models.packages.holdfast./g, '').replace(/\n\s*/g, ' | ').slice(0, 330)
          found.set(m, [...(found.get(m) ?? []), value.name])
        }
      }
      for (const [m, names] of found) console.log(`${call.name}\n   [${names.slice(0, 6).join("; ")} … ${names.length}]\n   ${m}`)
      const took = performance.now() - at
      if (took > 300) console.log(`   SLOW ${call.name} ${took | 0}`)
      await rig.storage.clear()
    }
    console.log(driver, pairs, 'pairs', bad, 'bad', process.cpuUsage(start).user / 1e6, 's')
  })
test.after?.(stopPlaces)
import { after } from 'node:test'
after(stopPlaces); after(stopPostgres)
