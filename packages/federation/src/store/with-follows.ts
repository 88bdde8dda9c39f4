// A store with another FollowStore.

import type { FollowStore, Store } from './store.ts'

export function withFollows(store: Store, follows: FollowStore): Store {
  return {
    deliveries: store.deliveries,
    peers: store.peers,
    blacklist: store.blacklist,
    follows,
    inbox: store.inbox,
    peerStates: store.peerStates,
    connect: () => store.connect(),
    disconnect: () => store.disconnect(),
    migrate: () => store.migrate(),
    migrationSql: () => store.migrationSql(),
    transaction: (run) => store.transaction(run),
    // What the app's FollowStore does in a transaction may take long: others must not wait for it with their commit.
    shared: (run) => store.transaction(run),
    join: (tx) => store.join(tx),
    storageTransaction: (storage, tx) => store.storageTransaction(storage, tx),
  }
}
