// Findings about the disk of a storage that keeps files.

import { constants, type StatsFs } from 'node:fs'
import { access, statfs } from 'node:fs/promises'
import type { Finding } from './storage.ts'

/** Below this share of the disk, or this number of bytes, a disk is nearly full. */
const fullShare = 0.05
const fullBytes = 100 * 2 ** 20

/** The numbers by which Linux names file systems of other machines: NFS, SMB, CIFS, SMB2, 9P, Ceph, AFS. */
const network = new Map([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xff534d42, 'CIFS'],
  [0xfe534d42, 'SMB2'],
  [0x01021997, '9P'],
  [0x00c36400, 'Ceph'],
  [0x5346414f, 'AFS'],
])

/** What is known of a disk: statfs() of its directory. */
export type DiskFacts = Pick<StatsFs, 'type' | 'bsize' | 'blocks' | 'bavail'>

/** @param directory in which the storage writes */
export async function diskFindings(directory: string): Promise<Finding[]> {
  const findings = judgeDisk(directory, await statfs(directory))
  const isWritable = await access(directory, constants.W_OK).then(
    () => true,
    () => false,
  )
  if (isWritable) return findings
  const sentence = `this process may not write in '${directory}'`
  return [
    { code: 'not_writable', severity: 'error', sentence, fix: 'Give its user the right to write there.' },
    ...findings,
  ]
}

export function judgeDisk(directory: string, { type, bsize, blocks, bavail }: DiskFacts): Finding[] {
  const findings: Finding[] = []
  const name = network.get(type)
  if (name !== undefined) {
    findings.push({
      code: 'network_file_system',
      severity: 'error',
      sentence: `'${directory}' is on a network file system (${name}), whose locks and syncs cannot be relied on`,
      fix: 'Use a local disk, or Postgres or Redis for several machines.',
    })
  }
  const free = bsize * bavail
  if (free >= fullBytes && bavail >= fullShare * blocks) return findings
  findings.push({
    code: 'disk_nearly_full',
    severity: 'warning',
    sentence: `the disk of '${directory}' has ${Math.floor(free / 2 ** 20)} MiB left, ${Math.floor((100 * bavail) / Math.max(blocks, 1))} %`,
    fix: 'Free some space, or shorten `retention`. On a full disk adds are refused; what is stored can still run and end.',
  })
  return findings
}

/** @param isDurable false: an acknowledged write may be lost in a power cut */
export function syncFindings(isDurable: boolean): Finding[] {
  if (isDurable) return []
  return [
    {
      code: 'sync_off',
      severity: 'warning',
      sentence: "writes are not synced to the disk before they are acknowledged (durability 'relaxed')",
      fix: "Leave `durability` at 'full', unless a power cut may take the last jobs.",
    },
  ]
}
