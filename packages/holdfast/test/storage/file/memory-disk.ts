// A disk in memory. A power cut loses what was not synced: the bytes of files, and the names in folders.
// Unsynced data may also have been written: that is random, for each name and each file.

import { dirname } from 'node:path'
import type { Disk } from '../../../src/storage/file/log/disk.ts'

interface File {
  bytes: Buffer
  synced: Buffer
  links: number
}

interface Folder {
  names: Map<string, File | Folder>
  synced: Map<string, File | Folder>
}

const isFolder = (node: File | Folder | undefined): node is Folder => node !== undefined && 'names' in node
const newFolder = (): Folder => ({ names: new Map(), synced: new Map() })

export class MemoryDisk implements Disk {
  readonly #root: Folder
  readonly #open = new Map<number, File | Folder>()
  #opened = 0
  /** Called before each call that writes or syncs, with its name. It may throw. */
  before: (call: string, path: string, bytes?: number) => void = () => {}

  constructor(root = newFolder()) {
    this.#root = root
  }

  /** The disk after a power cut. @param random in [0, 1) */
  powerCut(random: () => number): MemoryDisk {
    const copies = new Map<File | Folder, File | Folder>()
    const survive = (node: File | Folder): File | Folder => {
      const known = copies.get(node)
      if (known) return known
      if (!isFolder(node)) {
        const bytes =
          random() < 0.5 ? node.synced : node.bytes.subarray(0, Math.floor(random() * (node.bytes.length + 1)))
        const kept = node.synced === node.bytes ? node.synced : bytes
        const file = { bytes: kept, synced: kept, links: 1 }
        copies.set(node, file)
        return file
      }
      const folder = newFolder()
      copies.set(node, folder)
      for (const name of new Set([...node.names.keys(), ...node.synced.keys()])) {
        const [now, then] = [node.names.get(name), node.synced.get(name)]
        const kept = now === then || random() < 0.5 ? now : then
        if (kept) folder.names.set(name, survive(kept))
      }
      folder.synced = new Map(folder.names)
      return folder
    }
    return new MemoryDisk(survive(this.#root) as Folder)
  }

  makeFolder(path: string): void {
    this.before('makeFolder', path)
    let folder = this.#root
    for (const part of parts(path)) {
      let next = folder.names.get(part)
      if (!next) folder.names.set(part, (next = newFolder()))
      if (!isFolder(next)) throw failure('ENOTDIR')
      folder = next
    }
  }

  exists(path: string): boolean {
    return this.#find(path) !== undefined
  }

  read(path: string): Buffer | undefined {
    const file = this.#find(path)
    return file && !isFolder(file) ? Buffer.from(file.bytes) : undefined
  }

  names(path: string): string[] {
    const folder = this.#find(path)
    return isFolder(folder) ? [...folder.names.keys()] : []
  }

  create(path: string, bytes: Uint8Array): number {
    this.before('create', path, bytes.length)
    const folder = this.#folder(path)
    if (folder.names.has(nameOf(path))) throw failure('EEXIST')
    const file = { bytes: Buffer.from(bytes), synced: Buffer.alloc(0), links: 1 }
    folder.names.set(nameOf(path), file)
    return this.#number(file)
  }

  rewrite(path: string, bytes: Uint8Array): void {
    this.before('rewrite', path, bytes.length)
    const file = this.#find(path) as File
    file.bytes = Buffer.from(bytes)
  }

  openFolder(path: string): number {
    const folder = this.#find(path)
    if (!isFolder(folder)) throw failure('ENOENT')
    return this.#number(folder)
  }

  async sync(number: number): Promise<void> {
    this.before('sync', '')
    const node = this.#open.get(number)!
    await Promise.resolve()
    if (isFolder(node)) node.synced = new Map(node.names)
    else node.synced = node.bytes
  }

  close(number: number): void {
    this.#open.delete(number)
  }

  link(from: string, to: string): boolean {
    this.before('link', to)
    const file = this.#find(from)
    if (!file || isFolder(file)) throw failure('ENOENT')
    const folder = this.#folder(to)
    if (folder.names.has(nameOf(to))) return false
    folder.names.set(nameOf(to), file)
    file.links++
    return true
  }

  rename(from: string, to: string): boolean {
    this.before('rename', to)
    const node = this.#find(from)
    const target = this.#find(dirname(to))
    if (!node || !isFolder(target)) return false
    this.#folder(from).names.delete(nameOf(from))
    target.names.set(nameOf(to), node)
    return true
  }

  unlink(path: string): boolean {
    this.before('unlink', path)
    const file = this.#find(path)
    if (!file) return false
    if (!isFolder(file)) file.links--
    return this.#folder(path).names.delete(nameOf(path))
  }

  removeFolder(path: string): boolean {
    this.before('removeFolder', path)
    const folder = this.#find(path)
    if (!isFolder(folder) || folder.names.size > 0) return false
    return this.#folder(path).names.delete(nameOf(path))
  }

  async removeTree(path: string): Promise<void> {
    this.before('removeTree', path)
    if (this.exists(path)) this.#folder(path).names.delete(nameOf(path))
  }

  age(): number {
    return 0
  }

  links(path: string): number | undefined {
    return (this.#find(path) as File | undefined)?.links
  }

  watch(): undefined {
    return undefined
  }

  #find(path: string): File | Folder | undefined {
    let node: File | Folder | undefined = this.#root
    for (const part of parts(path)) node = isFolder(node) ? node.names.get(part) : undefined
    return node
  }

  #folder(path: string): Folder {
    const folder = this.#find(dirname(path))
    if (!isFolder(folder)) throw failure('ENOENT')
    return folder
  }

  #number(node: File | Folder): number {
    this.#open.set(++this.#opened, node)
    return this.#opened
  }
}

const parts = (path: string): string[] => path.split('/').filter((part) => part !== '')
const nameOf = (path: string): string => parts(path).at(-1)!

export function failure(code: string): Error {
  return Object.assign(new Error(`${code}: for a test`), { code })
}
