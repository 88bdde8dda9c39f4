// G9: only public addresses are contacted, whatever names them. The trap counts connections. So does the connector, which directs\n// every connection to the trap.

import assert from 'node:assert/strict'
import { createConnection, Socket } from 'node:net'
import { test, type TestContext } from 'node:test'
import { systemClock } from 'holdfast/storage'
import { FederationError } from '../../src/errors.ts'
import {
  type Address,
  createHttpClient,
  type HttpClient,
  type HttpOptions,
  type Resolver,
} from '../../src/http/client.ts'
import { get, type Listening, tcpServer, until } from '../http/listen.ts'
import { hostileAddresses, hostileUrls, publicAddresses } from './hostile.ts'

const address = (text: string): Address => ({ address: text, family: text.includes(':') ? 6 : 4 })

const resolver: Resolver = async (hostname) => {
  if (hostname === 'ip6.loopback.test') return [address('::1')]
  if (hostname.endsWith('loopback.test')) return [address('127.0.0.1')]
  return [address('93.184.215.14')]
}

interface Guarded {
  readonly client: HttpClient
  readonly trap: Listening
  /** Addresses of attempted connections. */
  readonly tried: string[]
}

async function guarded(t: TestContext, options: HttpOptions = {}): Promise<Guarded> {
  const trap = await tcpServer(t, (socket) => socket.resume())
  const tried: string[] = []
  const client = createHttpClient(
    {
      allowHttp: true,
      allowPorts: [trap.port],
      resolver,
      connector: ({ address: to }) => {
        tried.push(to.address)
        return createConnection(trap.port, '127.0.0.1')
      },
      ...options,
    },
    systemClock,
  )
  t.after(() => client.close())
  return { client, trap, tried }
}

const refusal =
  (code: string) =>
  (error: unknown): boolean =>
    error instanceof FederationError && error.code === code

test('[S12] the lists have the required length', () => {
  assert.ok(new Set(hostileAddresses).size >= 30)
  assert.ok(new Set(hostileUrls(1)).size >= 25)
})

test('[S12] the trap works: an allowed address reaches it', async (t) => {
  const { client, trap, tried } = await guarded(t, { allowCidrs: ['127.0.0.0/8'] })
  const ending = new AbortController()
  const asked = client.request(`http://127.0.0.1:${trap.port}/`, { ...get, signal: ending.signal })
  await until(() => trap.connections === 1)
  ending.abort()
  await assert.rejects(asked, refusal('TRANSPORT'))
  assert.deepEqual(tried, ['127.0.0.1'])
})

test('[S12] hostile URLs: each is refused with its code, none is contacted', async (t) => {
  const { client, trap, tried } = await guarded(t)
  for (const [url, code] of hostileUrls(trap.port)) {
    await assert.rejects(client.request(url, get), refusal(code), `request ${url}`)
    await assert.rejects(client.check(url), refusal(code), `check ${url}`)
  }
  assert.deepEqual([trap.connections, tried], [0, []])
})

test('[S12] hostile addresses: refused as literals and as resolved addresses', async (t) => {
  let answer: readonly Address[] = []
  const { client, trap, tried } = await guarded(t, { resolver: async () => answer })
  for (const text of hostileAddresses) {
    const literal = text.includes(':') ? `[${text}]` : text
    await assert.rejects(client.request(`http://${literal}:${trap.port}/`, get), refusal('ADDRESS_REFUSED'), text)
    answer = [address(text)]
    await assert.rejects(
      client.request(`http://a.test:${trap.port}/`, get),
      refusal('ADDRESS_REFUSED'),
      `name of ${text}`,
    )
    await assert.rejects(client.check(`http://a.test:${trap.port}/`), refusal('ADDRESS_REFUSED'), `name of ${text}`)
  }
  assert.deepEqual([trap.connections, tried], [0, []])
})

test('[S12] public samples pass the rule; none is contacted', async (t) => {
  let answer: readonly Address[] = []
  const { client, trap, tried } = await guarded(t, { resolver: async () => answer })
  for (const text of publicAddresses) {
    answer = [address(text)]
    await client.check('https://a.test/')
    await client.check(`https://${text.includes(':') ? `[${text}]` : text}/`)
  }
  assert.deepEqual([trap.connections, tried], [0, []])
})

test('[S12] by default: https only, port 443 only', async (t) => {
  const { client, trap, tried } = await guarded(t, { allowHttp: false, allowPorts: [] })
  for (const url of ['http://a.test/', 'https://a.test:8443/', `https://a.test:${trap.port}/`, 'https://a.test:80/']) {
    await assert.rejects(client.check(url), refusal('ADDRESS_REFUSED'), url)
  }
  await client.check('https://a.test/')
  await client.check('https://a.test:443/')
  assert.deepEqual([trap.connections, tried], [0, []])
})

test('[S12] mixed DNS answers are refused, with the bad one at any position', async (t) => {
  const good = ['93.184.215.14', '2606:4700:4700::1111'].map(address)
  for (const bad of ['127.0.0.1', '10.0.0.1', '::1', '::ffff:127.0.0.1', '169.254.169.254'].map(address)) {
    for (const at of [0, 1, 2]) {
      const answer = good.toSpliced(at, 0, bad)
      const { client, trap, tried } = await guarded(t, { resolver: async () => answer })
      await assert.rejects(client.request(`http://a.test:${trap.port}/`, get), refusal('ADDRESS_REFUSED'))
      assert.deepEqual([trap.connections, tried], [0, []])
    }
  }
})

test('[S12] a name that is public at the check and loopback at the request (rebinding)', async (t) => {
  let lookups = 0
  const { client, trap, tried } = await guarded(t, {
    resolver: async () => [address(lookups++ === 0 ? '93.184.215.14' : '127.0.0.1')],
  })
  await client.check(`http://a.test:${trap.port}/`)
  await assert.rejects(client.request(`http://a.test:${trap.port}/`, get), refusal('ADDRESS_REFUSED'))
  assert.deepEqual([lookups, trap.connections, tried], [2, 0, []])
})

test('[S12] one lookup per connection: the checked address is the connected one', async (t) => {
  let lookups = 0
  const connected: string[] = []
  const { client, trap } = await guarded(t, {
    resolver: async () => [address(lookups++ === 0 ? '93.184.215.14' : '127.0.0.1')],
    connector: ({ address: to }) => {
      connected.push(to.address)
      return new Socket() // It never connects.
    },
  })
  const ending = new AbortController()
  const asked = client.request(`http://a.test:${trap.port}/`, { ...get, signal: ending.signal })
  await until(() => connected.length > 0)
  ending.abort()
  await assert.rejects(asked, refusal('TRANSPORT'))
  assert.deepEqual([lookups, connected, trap.connections], [1, ['93.184.215.14'], 0])
})

for (const scheme of ['http', 'https']) {
  test(`[S12] a connection to another address is closed before a byte is written (${scheme})`, async (t) => {
    const { client, trap, tried } = await guarded(t)
    const asked = client.request(`${scheme}://public.test:${trap.port}/`, { ...get, method: 'POST', body: 'secret' })
    await assert.rejects(asked, refusal('ADDRESS_REFUSED'))
    await until(() => trap.connections === 1 && trap.sockets.size === 0)
    assert.deepEqual([tried, trap.bytes], [['93.184.215.14'], 0])
  })
}

test('[S12] an allowed host may have any address, and no other host', async (t) => {
  const { client, trap } = await guarded(t, { allowHosts: ['Loopback.TEST', '127.0.0.2'] })
  await client.check(`http://loopback.test:${trap.port}/`)
  await client.check(`http://127.0.0.2:${trap.port}/`)
  for (const host of ['ip6.loopback.test', 'x.loopback.test', '127.0.0.1']) {
    await assert.rejects(client.check(`http://${host}:${trap.port}/`), refusal('ADDRESS_REFUSED'), host)
  }
})
