// The tables of a store, for tests that empty them.

export const tables = [
  'delivery_jobs',
  'server_registry',
  'blacklisted_servers',
  'follows',
  'inbox',
  'outbox_bodies',
  'peer_states',
]
