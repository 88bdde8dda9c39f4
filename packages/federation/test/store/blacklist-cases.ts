// Cases of the table blacklisted_servers.

import assert from 'node:assert/strict'
import type { Case } from './subject.ts'

const now = 1_767_225_600_000

export const blacklistCases: Case[] = [
  {
    name: 'a block of an origin does not cover other ports or hosts',
    async run({ store }) {
      const row = { serverUrl: 'https://evil.example', match: 'origin', reason: 'spam', createdAt: now } as const
      await store.blacklist.add(row)
      assert.deepEqual(await store.blacklist.matching('https://evil.example'), row)
      for (const other of [
        'https://evil.example:8443',
        'http://evil.example',
        'https://a.evil.example',
        'https://example',
      ]) {
        assert.equal(await store.blacklist.matching(other), undefined, other)
      }
    },
  },
  {
    name: 'a block of a domain covers its subdomains, with any scheme and port',
    async run({ store }) {
      await store.blacklist.add({
        serverUrl: 'https://evil.example:99',
        match: 'domain',
        reason: 'spam',
        createdAt: now,
      })
      for (const blocked of [
        'https://evil.example',
        'https://evil.example:99',
        'http://evil.example:8080',
        'https://a.evil.example',
        'https://a.b.evil.example:444',
      ]) {
        assert.equal((await store.blacklist.matching(blocked))?.match, 'domain', blocked)
      }
      for (const other of [
        'https://notevil.example',
        'https://example',
        'https://evil.example.org',
        'https://127.0.0.1',
      ]) {
        assert.equal(await store.blacklist.matching(other), undefined, other)
      }
    },
  },
  {
    name: 'an IP address has no parent domain',
    async run({ store }) {
      await store.blacklist.add({ serverUrl: '0.0.2', match: 'domain', reason: '', createdAt: now })
      await store.blacklist.add({ serverUrl: 'https://[2001:db8::1]', match: 'domain', reason: 'v6', createdAt: now })
      assert.equal(await store.blacklist.matching('https://127.0.0.2'), undefined)
      assert.equal((await store.blacklist.matching('https://[2001:db8::1]:8443'))?.reason, 'v6')
    },
  },
  {
    name: 'a repeated block is one row, and unblock removes it',
    async run({ store }) {
      const serverUrl = 'https://evil.example'
      await store.blacklist.add({ serverUrl, match: 'origin', reason: 'one', createdAt: now })
      await store.blacklist.add({ serverUrl, match: 'domain', reason: 'two', createdAt: now + 1 })
      const [row, ...others] = await store.blacklist.list()
      assert.deepEqual([row!.match, row!.reason, others.length], ['domain', 'two', 0])
      assert.equal(await store.blacklist.remove('https://evil.example:8443'), true)
      assert.equal(await store.blacklist.remove(serverUrl), false)
      assert.equal(await store.blacklist.matching(serverUrl), undefined)
    },
  },
]
