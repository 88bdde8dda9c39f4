// Makes the data directory of a Postgres server. initdb takes more CPU than most tests, so a test run makes one directory
// and copies it: the variable below, set by scripts/test.ts, names the path of that template. The first process that needs
// it makes it.

import { execFile } from 'node:child_process'
import { existsSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { ServerUser } from './process.ts'

/** Environment variable with the path of the template. Not set: every server calls initdb. */
export const templateVariable = 'HOLDFAST_POSTGRES_TEMPLATE'

interface ClusterRequest {
  /** Folder of the programs. */
  readonly folder: string
  /** Directory of the server; the data goes into its subdirectory `data`. */
  readonly directory: string
  readonly password: string | undefined
  readonly user: ServerUser | undefined
  /** Whether the programs are those that made the template. */
  readonly isTemplated: boolean
}

const run = promisify(execFile)

export async function makeCluster(request: ClusterRequest): Promise<void> {
  const { directory, password, isTemplated } = request
  const template = isTemplated && password === undefined ? process.env[templateVariable] : undefined
  const data = join(directory, 'data')
  if (template && existsSync(template)) return copy(template, data)
  await callInitdb(request, data)
  if (template) await keep(data, template)
}

async function callInitdb({ folder, directory, password, user }: ClusterRequest, data: string): Promise<void> {
  const passwordFile = join(directory, 'password')
  if (password !== undefined) writeFileSync(passwordFile, password)
  const args = ['--no-sync', '--username=postgres', '--encoding=UTF8', '--locale=C', '-D', data]
  const access = password === undefined ? ['--auth=trust'] : ['--auth=scram-sha-256', `--pwfile=${passwordFile}`]
  await run(join(folder, 'initdb'), [...args, ...access], { cwd: directory, ...user })
}

/** By a rename, so that no process sees a part of it. Of processes that made one at the same time, the first wins. */
async function keep(data: string, template: string): Promise<void> {
  const draft = `${template}-${process.pid}`
  await copy(data, draft)
  try {
    renameSync(draft, template)
  } catch (error) {
    if (!['ENOTEMPTY', 'EEXIST'].includes((error as NodeJS.ErrnoException).code!)) throw error
    rmSync(draft, { recursive: true })
  }
}

/** The owner of the files stays: Postgres refuses a directory that is not its own. */
const copy = async (from: string, to: string): Promise<void> => void (await run('cp', ['-a', from, to]))
