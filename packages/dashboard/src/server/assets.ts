// The files of the app, as `build/` wrote them into dist/assets: names with a hash of their content, and a manifest. Invariant: only
// files of the manifest are served, whatever path is asked for.

import { readFile } from 'node:fs/promises'
import { respond } from './http/responses.ts'

/** The same folder from `src/server` and from `dist/server`. */
const folder = new URL('../../dist/assets/', import.meta.url)

export interface Manifest {
  readonly script: string
  readonly style: string
  readonly icon: string
}

const types: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
}

export class Assets {
  #manifest: Promise<Manifest> | undefined
  readonly #files = new Map<string, Promise<Uint8Array<ArrayBuffer>>>()

  /** @throws Error if the app was not built */
  manifest(): Promise<Manifest> {
    this.#manifest ??= readFile(new URL('manifest.json', folder), 'utf8').then(
      (text) => JSON.parse(text) as Manifest,
      (error: unknown) => {
        this.#manifest = undefined
        throw new Error('The app of the dashboard is not built: run `npm run build -w packages/dashboard`.', {
          cause: error,
        })
      },
    )
    return this.#manifest
  }

  /** Undefined if there is no such file. */
  async get(name: string): Promise<Response | undefined> {
    const { script, style, icon } = await this.manifest()
    if (![script, style, icon].includes(name)) return undefined
    const content = this.#files.get(name) ?? readFile(new URL(name, folder))
    this.#files.set(name, content)
    return respond(await content, 200, {
      'content-type': types[name.slice(name.lastIndexOf('.') + 1)]!,
      // The name changes with the content. Private, because a request needs authorization.
      'cache-control': 'private, max-age=31536000, immutable',
    })
  }
}
