// A folder with a holdfast.config.ts. It is inside the project, so that the file finds the package by its name.

import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../../../snippets.tmp/', import.meta.url))

export async function configFolder(t: TestContext, code: string, name = 'holdfast.config.ts'): Promise<string> {
  await mkdir(root, { recursive: true })
  const folder = await mkdtemp(join(root, `${process.pid}-cli-`))
  t.after(() => rm(folder, { recursive: true, force: true, maxRetries: 10 }))
  await writeFile(join(folder, name), code)
  return folder
}

/** A queue whose handler waits until it is told to stop, and one that ends at once. */
export const workingConfig = `
import { defineConfig, Queue } from 'holdfast'
import { SqliteStorage } from 'holdfast/sqlite'

const storage = new SqliteStorage({ path: new URL('jobs.db', import.meta.url).pathname, durability: 'relaxed' })
const mail = new Queue<string, string>({ storage, name: 'mail', searchFields: { to: 'string' }, search: (to) => ({ to }) })
mail.execute(({ payload }) => \`sent to \${payload}\`)
const slow = new Queue<string>({ storage, name: 'slow', concurrency: 2 })
slow.execute(({ signal }) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))))

export default defineConfig({ storage, workers: [mail, slow] })
`
