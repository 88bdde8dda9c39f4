// One node's view of the cluster: CLUSTER INFO, CLUSTER NODES and its own replication, read together.

import type { RedisServer } from './redis.ts'
import { parseInfo, type Reply } from './resp.ts'

export interface ClusterNode {
  readonly id: string
  readonly port: number
  /** `myself`, `master`, `slave`, `fail?`, `fail`, `handshake`, `noaddr`, … */
  readonly flags: readonly string[]
  /** Id of the master, for a replica. */
  readonly masterId: string | undefined
  /** Ranges of slots, both ends included. */
  readonly slots: readonly (readonly [number, number])[]
}

export interface ClusterView {
  readonly state: string
  readonly nodes: readonly ClusterNode[]
  /** Whether the node is a replica whose link to its master is down. */
  readonly cutOff: boolean
}

/** @throws Error when the node does not answer */
export async function readClusterView(server: RedisServer): Promise<ClusterView> {
  const client = await server.connect({ timeoutMs: 2000 })
  try {
    const [info, nodes, replication] = await Promise.all([
      client.send('CLUSTER', 'INFO'),
      client.send('CLUSTER', 'NODES'),
      client.send('INFO', 'replication'),
    ])
    const link = parseInfo(replication).get('master_link_status')
    return {
      state: parseInfo(info).get('cluster_state') ?? 'unknown',
      nodes: parseNodes(nodes),
      cutOff: link !== undefined && link !== 'up',
    }
  } finally {
    client.close()
  }
}

export const ownsSlots = (node: ClusterNode): boolean => node.flags.includes('master') && node.slots.length > 0

export const nodeAt = (view: ClusterView, port: number): ClusterNode | undefined =>
  view.nodes.find((node) => node.port === port)

function parseNodes(text: Reply): ClusterNode[] {
  return String(text)
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [id, address, flags, masterId, , , , , ...slots] = line.split(' ') as [string, string, string, string]
      return {
        id,
        port: Number(/:(\d+)@/.exec(address)?.[1]),
        flags: flags.split(','),
        masterId: masterId === '-' ? undefined : masterId,
        slots: (slots as string[]).filter((range) => !range.startsWith('[')).map(parseRange),
      }
    })
}

function parseRange(range: string): [number, number] {
  const [from, to] = range.split('-').map(Number) as [number, number?]
  return [from, to ?? from]
}
