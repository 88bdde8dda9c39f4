// The other servers of a federation, as far as the dashboard uses them. `peers` of a federation of @holdfast/federation fits.

/** State of a server, and what waits for it. Instants are epoch ms. */
export interface PeerReport {
  readonly origin: string
  readonly state: string
  /** Why it is blocked or unhealthy. */
  readonly why?: string | undefined
  readonly lastSeen?: number | undefined
  /** Deliveries that wait for it. */
  readonly open: number
  readonly oldestOpenAt?: number | undefined
  /** Code of the latest failed attempt. */
  readonly lastError?: string | undefined
  /** Failed contacts in a row, and the next contact. */
  readonly contact?: { readonly failures: number; readonly nextContactAt: number } | undefined
}

export interface PeerActions {
  list(filter?: { readonly after?: string; readonly limit?: number }): Promise<readonly { readonly url: string }[]>
  explain(url: string): Promise<PeerReport>
  pause(url: string, options?: { readonly by?: string }): Promise<void>
  resume(url: string, options?: { readonly by?: string }): Promise<void>
  /** Contacts it now. Whether it answered with its keys. */
  probe(url: string): Promise<boolean>
  block(url: string, options?: { readonly reason?: string }): Promise<void>
  unblock(url: string): Promise<boolean>
}
