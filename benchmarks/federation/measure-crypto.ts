// Measures the CPU time of one delivery's cryptography, in microseconds. The thread does nothing else meanwhile.

import { generateKeyText } from '@holdfast/federation'
import { type CryptoPath, ours, type Sealed, tweetnacl } from './crypto-paths.ts'

const sender = generateKeyText()
const peer = generateKeyText()
const payload = JSON.stringify({ method: 'FEDERATE', note: 'x'.repeat(2_000) })
const ackText = JSON.stringify({ following: { id: 'f', followerId: 'a', followingId: 'b' }, note: 'x'.repeat(200) })

/** Alternates between the paths. Returns one figure per path and round. */
export async function measureCrypto(rounds: number, seconds: number): Promise<ReadonlyMap<string, readonly number[]>> {
  const mine = ours(sender)
  const paths = [mine, tweetnacl]
  const ack = await ours(peer).seal(ackText, peer, sender)
  await assertSameWire(mine)
  const costs = new Map<string, number[]>(paths.map(({ name }) => [name, []]))
  for (const path of paths) await cost(path, ack, 0.2)
  for (let round = 0; round < rounds; round += 1) {
    for (const path of paths) costs.get(path.name)!.push(await cost(path, ack, seconds))
  }
  return costs
}

async function cost(path: CryptoPath, ack: Sealed, seconds: number): Promise<number> {
  const before = process.cpuUsage()
  const end = performance.now() + seconds * 1_000
  let deliveries = 0
  do {
    await path.seal(payload, sender, peer)
    await path.open(ack, peer, sender)
    deliveries += 1
  } while (performance.now() < end)
  const { user, system } = process.cpuUsage(before)
  return (user + system) / deliveries
}

/** Proves that both paths do the same work: each decrypts what the other one has encrypted. */
async function assertSameWire(mine: CryptoPath): Promise<void> {
  const theirs = await tweetnacl.seal(payload, sender, peer)
  const our = await mine.seal(payload, sender, peer)
  const opened = [await ours(peer).open(theirs, sender, peer), await tweetnacl.open(our, sender, peer)]
  if (opened.some((text) => text !== payload) || our.signature !== theirs.signature) {
    throw new Error('benchmark: the two paths do not produce the same wire format.')
  }
}
