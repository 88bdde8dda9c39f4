// One reference to something that is connected and disconnected, taken on first use.

interface Connectable {
  connect(): Promise<void>
  disconnect(): Promise<void>
}

export interface ConnectOnce {
  /** Connects on the first call. Later calls wait for that one; after a failure the next call tries again. */
  open(): Promise<void>
  /** Gives the reference back, if there is one. */
  close(): Promise<void>
}

export function connectOnce(target: Connectable): ConnectOnce {
  let opening: Promise<void> | undefined
  return {
    open: () => {
      opening ??= target.connect().catch((error: unknown) => {
        opening = undefined
        throw error
      })
      return opening
    },
    close: async () => {
      const isOpen = await opening?.then(
        () => true,
        () => false,
      )
      opening = undefined
      if (isOpen) await target.disconnect()
    },
  }
}
