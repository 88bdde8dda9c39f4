// node --conditions=@holdfast/source examples/orders-in-one-transaction/main.ts [--with pg|drizzle|kysely] [--url postgres://…]
//
// Places orders, of which some are rolled back, and shows that exactly the jobs of the others ran. Without --url it starts a private
// Postgres server.

import { parseArgs } from 'node:util'
import { startPostgres } from '../../servers/postgres.ts'
import { placeWithDrizzle } from './place-with-drizzle.ts'
import { placeWithKysely } from './place-with-kysely.ts'
import { placeWithPg } from './place-with-pg.ts'
import { runShop } from './shop.ts'

const ways = { pg: placeWithPg, drizzle: placeWithDrizzle, kysely: placeWithKysely }

const { values } = parseArgs({ options: { with: { type: 'string', default: 'pg' }, url: { type: 'string' } } })
const way = Object.entries(ways).find(([name]) => name === values.with)
if (!way) {
  console.error(`--with: expected one of ${Object.keys(ways).join(', ')}, got ${values.with}`)
  process.exit(2)
}

const server = values.url === undefined ? await startPostgres() : undefined
try {
  const { placed, refused, wrong } = await runShop(values.url ?? server!.url, way[1])
  for (const id of placed) console.log(`${id}: placed, receipt and parcel were sent`)
  for (const id of refused) console.log(`${id}: refused, and nothing of it was written`)
  for (const sentence of wrong) console.error(sentence)
  console.log(`\n${placed.length} orders placed, ${refused.length} rolled back, ${wrong.length} problems.`)
  if (wrong.length > 0) process.exitCode = 1
} finally {
  await server?.stop()
}
