// Imports @holdfast/dashboard, which is a package of its own: that of the folder that the command runs in, else the one beside this package.

import type { IncomingMessage, ServerResponse } from 'node:http'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Storage } from '../storage/storage.ts'
import { UsageError } from './usage-error.ts'

type Answer = (request: Request) => Promise<Response>

/** What is used of the package. */
export interface DashboardPackage {
  readonly permissions: readonly string[]
  createDashboard(options: {
    readonly storage: Storage
    readonly hosts: readonly string[]
    authorize(request: Request): { readonly actor: string; readonly can: readonly string[] } | Response
  }): Answer & { close(): Promise<void> }
  nodeListener(answer: Answer): (incoming: IncomingMessage, outgoing: ServerResponse) => Promise<void>
}

const name = '@holdfast/dashboard'

const importFrom = (specifier: string): Promise<unknown> =>
  import(/* webpackIgnore: true */ /* @vite-ignore */ specifier)

/** @param load imports it; tests replace it @throws UsageError that names the command that installs it */
export async function loadDashboard(cwd: string, load = importFrom): Promise<DashboardPackage> {
  for (const find of [() => pathToFileURL(createRequire(join(cwd, 'holdfast.js')).resolve(name)).href, () => name]) {
    try {
      return (await load(find())) as DashboardPackage
    } catch (error) {
      if (!isMissing(error)) throw error
    }
  }
  throw new UsageError(`the dashboard is a package of its own, and it is not installed. Run: npm install ${name}`)
}

function isMissing(error: unknown): boolean {
  const { code, message = '' } = error as { code?: unknown; message?: string }
  return (code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND') && message.includes(name)
}
