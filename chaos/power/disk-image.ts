// What may be on a disk after the power was cut: all that was synced, and any part of the rest. Names of files (create, rename, link,
// unlink) are kept in their order, as file systems with a journal do, and last once their folder was synced. The writes of a file may be
// kept, lost, kept in part, and torn, in any combination.

import { dirname } from 'node:path'
import type { Random } from '../random.ts'
import type { DiskOp } from './recorded-writes.ts'

type Change = Extract<DiskOp, { kind: 'write' | 'truncate' }>
type Naming = Extract<DiskOp, { kind: 'create' | 'unlink' | 'link' | 'rename' }>

class Inode {
  durable: Buffer = Buffer.alloc(0)
  pending: { readonly index: number; readonly change: Change }[] = []

  sync(before: number): void {
    for (const { index, change } of this.pending) if (index < before) this.durable = applied(this.durable, change)
    this.pending = this.pending.filter(({ index }) => index >= before)
  }
}

/**
 * @param cut operations that had ended when the power was cut
 * @param keep names and bytes of the operations before this one count as synced
 * @returns the files by path
 */
export function imageAt(ops: readonly DiskOp[], cut: number, random: Random, keep = 0): Map<string, Buffer> {
  const names = new Map<string, Inode>()
  const namings: { readonly op: Naming; readonly index: number; readonly inode: Inode | undefined }[] = []
  let durableNames = 0
  for (const [index, op] of ops.slice(0, cut).entries()) {
    if (op.kind === 'write' || op.kind === 'truncate') {
      const inode = names.get(op.path)
      if (!inode) throw new Error(`power cut: ${op.path} was written and never created`)
      inode.pending.push({ index, change: op })
    } else if (op.kind === 'sync') {
      names.get(op.path)?.sync(op.from)
      const last = namings.findLastIndex((naming) => naming.index < op.from && foldersOf(naming.op).includes(op.path))
      durableNames = Math.max(durableNames, last + 1)
    } else if (op.kind !== 'told') {
      const inode = op.kind === 'create' ? new Inode() : names.get(op.path)
      namings.push({ op, index, inode })
      rename(names, op, inode)
    }
    if (index === keep - 1) {
      for (const inode of names.values()) inode.sync(keep)
      durableNames = namings.length
    }
  }
  const kept = durableNames + random.integer(0, namings.length - durableNames)
  const files = new Map<string, Inode>()
  for (const { op, inode } of namings.slice(0, kept)) rename(files, op, inode)
  const contents = new Map<Inode, Buffer>()
  for (const inode of new Set(files.values())) contents.set(inode, contentOf(inode, random))
  return new Map([...files].map(([path, inode]) => [path, contents.get(inode)!]))
}

function rename(names: Map<string, Inode>, op: Naming, inode: Inode | undefined): void {
  if (op.kind === 'unlink' || op.kind === 'rename') names.delete(op.path)
  if (op.kind === 'create') names.set(op.path, inode!)
  else if ((op.kind === 'link' || op.kind === 'rename') && inode) names.set(op.to, inode)
}

const foldersOf = (op: Naming): string[] => ('to' in op ? [dirname(op.path), dirname(op.to)] : [dirname(op.path)])

/** In one of five ways: nothing more, all, the first ones, the first ones and a part of the next, any of them. */
function contentOf({ durable, pending }: Inode, random: Random): Buffer {
  const way = random.integer(0, 4)
  const count = way === 0 ? 0 : way === 1 ? pending.length : random.integer(0, pending.length)
  let bytes = durable
  for (const [number, { change }] of pending.entries()) {
    if (way === 4 ? random.next() < 0.5 : number < count) bytes = applied(bytes, change)
    else if (way === 3 && number === count && change.kind === 'write') bytes = applied(bytes, torn(change, random))
  }
  return bytes
}

function torn(change: Extract<Change, { kind: 'write' }>, random: Random): Change {
  return { ...change, bytes: change.bytes.subarray(0, random.integer(0, change.bytes.length)) }
}

function applied(bytes: Buffer, change: Change): Buffer {
  const length = change.kind === 'truncate' ? change.size : Math.max(bytes.length, change.at + change.bytes.length)
  const next = Buffer.alloc(length)
  bytes.copy(next, 0, 0, length)
  if (change.kind === 'write') change.bytes.copy(next, change.at)
  return next
}
