// What a process did to the files of a directory, in order, as strace recorded it: a sync covers the writes that had ended when it began.

export type DiskOp =
  | { readonly kind: 'write'; readonly path: string; readonly at: number; readonly bytes: Buffer }
  | { readonly kind: 'truncate'; readonly path: string; readonly size: number }
  | { readonly kind: 'create' | 'unlink'; readonly path: string }
  | { readonly kind: 'link' | 'rename'; readonly path: string; readonly to: string }
  /** `from`: the number of operations that had ended when it began. */
  | { readonly kind: 'sync'; readonly path: string; readonly from: number }
  /** A line that the process wrote down: what it was told. */
  | { readonly kind: 'told'; readonly line: string }

/** The calls to record. */
const recordedCalls =
  'open,openat,creat,write,pwrite64,writev,pwritev,pwritev2,fsync,fdatasync,rename,renameat,renameat2,unlink,unlinkat,' +
  'ftruncate,truncate,fallocate,link,linkat,copy_file_range,sendfile'

export const straceArgs = (output: string): string[] =>
  `-f --seccomp-bpf -y -xx -s 16777216 -e trace=${recordedCalls} -e signal=none -o`.split(' ').concat(output)

interface Call {
  readonly name: string
  readonly text: string
  readonly result: number
  /** Operations that had ended when it began. */
  readonly from: number
}

/**
 * @param root files elsewhere are left out
 * @param notes the file whose lines are what the process was told
 * @throws Error for a call that it does not understand
 */
export function diskOpsOf(trace: string, root: string, notes: string): DiskOp[] {
  const ops: DiskOp[] = []
  const offsets = new Map<string, number>()
  const sizes = new Map<string, number>()
  const isOurs = (path: string): boolean => path.startsWith(`${root}/`) || path === root
  const write = (path: string, at: number, bytes: Buffer): void => {
    ops.push({ kind: 'write', path, at, bytes })
    sizes.set(path, Math.max(sizes.get(path) ?? 0, at + bytes.length))
  }
  const move = (from: string, to: string): void => {
    sizes.set(to, sizes.get(from) ?? 0)
    // strace shows the new name of an open file from now on.
    for (const [key, offset] of offsets) if (key.endsWith(`<${from}`)) offsets.set(key.replace(from, to), offset)
    if (isOurs(from) || isOurs(to)) ops.push({ kind: 'rename', path: from, to })
  }
  for (const { name, text, result, from } of callsOf(trace, () => ops.length)) {
    if (result < 0) continue
    const [fd, path] = descriptorOf(text)
    if (name === 'open' || name === 'openat' || name === 'creat') {
      const opened = descriptorOf(text.slice(text.lastIndexOf('= ') + 2))
      if (!isOurs(opened[1]) || text.includes('O_DIRECTORY')) continue
      if (text.includes('O_CREAT') && !sizes.has(opened[1])) {
        ops.push({ kind: 'create', path: opened[1] })
        sizes.set(opened[1], 0)
      } else if (text.includes('O_TRUNC')) {
        ops.push({ kind: 'truncate', path: opened[1], size: 0 })
        sizes.set(opened[1], 0)
      }
      offsets.set(`${opened[0]}<${opened[1]}`, text.includes('O_APPEND') ? Infinity : 0)
    } else if (
      name === 'rename' ||
      name === 'renameat' ||
      name === 'renameat2' ||
      name === 'link' ||
      name === 'linkat'
    ) {
      const [source, target] = pathsOf(text, root)
      if (name.startsWith('rename')) {
        move(source!, target!)
        sizes.delete(source!)
      } else if (isOurs(target!)) {
        ops.push({ kind: 'link', path: source!, to: target! })
        sizes.set(target!, sizes.get(source!) ?? 0)
      }
    } else if (name === 'unlink' || name === 'unlinkat') {
      const [gone] = pathsOf(text, root)
      if (isOurs(gone!)) ops.push({ kind: 'unlink', path: gone! })
      sizes.delete(gone!)
    } else if (path === notes) {
      for (const line of bytesOf(text).toString().split('\n')) if (line !== '') ops.push({ kind: 'told', line })
    } else if (!isOurs(path)) {
      continue
    } else if (name === 'fsync' || name === 'fdatasync') {
      ops.push({ kind: 'sync', path, from })
    } else if (name === 'pwrite64') {
      write(path, Number(/, (\d+)\s*\)\s+= \d+/.exec(text)![1]), bytesOf(text).subarray(0, result))
    } else if (name === 'write' || name === 'writev') {
      const offset = offsets.get(`${fd}<${path}`) ?? 0
      const at = offset === Infinity ? (sizes.get(path) ?? 0) : offset
      write(path, at, bytesOf(text).subarray(0, result))
      if (offset !== Infinity) offsets.set(`${fd}<${path}`, at + result)
    } else if (name === 'ftruncate') {
      const size = Number(/, (\d+)\s*\)\s+= 0/.exec(text)![1])
      ops.push({ kind: 'truncate', path, size })
      sizes.set(path, size)
    } else {
      throw new Error(`power cut: ${name} of ${path} is not understood`)
    }
  }
  return ops
}

/** The calls in the order of their ends. A call of one thread may be interrupted by others: strace prints it in two parts. */
function* callsOf(trace: string, count: () => number): Generator<Call> {
  const open = new Map<string, { readonly text: string; readonly from: number }>()
  for (const line of trace.split('\n')) {
    const [, thread, rest] = /^(\d+)\s+(.*)$/.exec(line) ?? []
    if (thread === undefined || rest === undefined || /^(\+\+\+|---)/.test(rest)) continue
    if (rest.endsWith('<unfinished ...>')) {
      open.set(thread, { text: rest.slice(0, -'<unfinished ...>'.length), from: count() })
      continue
    }
    const resumed = /^<\.\.\. \w+ resumed>(.*)$/.exec(rest)
    const begun = resumed ? open.get(thread) : undefined
    if (resumed && !begun) continue
    const text = begun ? begun.text + resumed![1]! : rest
    const result = /\)\s+= (-?\d+)/.exec(text)
    const name = /^(\w+)\(/.exec(text)
    if (name && result) yield { name: name[1]!, text, result: Number(result[1]), from: begun?.from ?? count() }
  }
}

const plain = (hex: string): string => Buffer.from(hex.replaceAll('\\x', ''), 'hex').toString()

/** The number and the path of the first descriptor. */
function descriptorOf(text: string): [string, string] {
  const found = /(\d+)<((?:\\x[0-9a-f]{2})*)>/.exec(text)
  return found ? [found[1]!, plain(found[2]!)] : ['', '']
}

/** All data of a call, in the order of its buffers. */
function bytesOf(text: string): Buffer {
  const parts = [...text.matchAll(/"((?:\\x[0-9a-f]{2})*)"/g)].map((part) => part[1]!.replaceAll('\\x', ''))
  return Buffer.from(parts.join(''), 'hex')
}

/** Relative ones are of the folder before them, `AT_FDCWD<folder>` or `7<folder>`, or of the folder in which a server works. */
function pathsOf(text: string, root: string): string[] {
  const found = text.matchAll(/(?:<((?:\\x[0-9a-f]{2})*)>, )?"((?:\\x[0-9a-f]{2})*)"/g)
  return [...found].map(([, folder, name]) => {
    const path = plain(name!)
    return path.startsWith('/') ? path : `${folder === undefined ? root : plain(folder)}/${path}`
  })
}
