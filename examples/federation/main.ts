// Two apps that federate, in one process:  node --conditions=@holdfast/source examples/federation/main.ts
//
// alice on alpha follows bob on beta, and sends him a post. Prints one line per event and exits by itself.

import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generateKeyText } from '@holdfast/federation'
import { listen, startApp } from './server.ts'

const folder = await mkdtemp(join(tmpdir(), 'holdfast-federation-'))
const [here, there] = [await listen(), await listen()]
const alpha = await startApp(here, {
  keys: generateKeyText(),
  path: join(folder, 'alpha.db'),
  users: new Set(['alice']),
  peerPorts: [there.port],
  log: (line) => console.log(`alpha: ${line}`),
})
const beta = await startApp(there, {
  keys: generateKeyText(),
  path: join(folder, 'beta.db'),
  users: new Set(['bob']),
  peerPorts: [here.port],
  log: (line) => console.log(`beta: ${line}`),
})

try {
  const [page] = await Promise.all([fetch(`${alpha.origin}/`), once(alpha.federation, 'delivered'), follow('bob')])
  console.log(`alpha: bob was followed; GET / answers: ${(await page.text()).trim()}`)
  await Promise.all([once(alpha.federation, 'delivered'), writePost('hello, bob')])
  await Promise.all([once(alpha.federation, 'delivery_failed'), follow('carol')])
  console.log('alpha: beta has no user carol')
} finally {
  await Promise.all([alpha.stop(), beta.stop()])
  await rm(folder, { recursive: true })
}

async function follow(followingId: string): Promise<void> {
  await alpha.federation.follow({ followerId: 'alice', followingId, serverUrl: beta.origin })
}

async function writePost(value: string): Promise<void> {
  const post = {
    id: 'post-1',
    content: [{ type: 'text', value }],
    authorId: 'alice',
    published: new Date().toISOString(),
    isPrivate: false,
  }
  await alpha.federation.deliveryQueue.add('deliver-post', {
    deliveryJobId: post.id,
    serverUrl: beta.origin,
    targetUrl: `${beta.origin}/inbox`,
    payload: JSON.stringify({ method: 'FEDERATE_POST', federationUrl: alpha.origin, post }),
  })
}
