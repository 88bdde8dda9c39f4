// On abort, @fedify/postgres cancels its query. postgres.js does that on a connection of its own, and keeps its promise to itself, so
// a failure there is a rejection that nothing handles: of the query, or of that connection. The server of a measurement stops soon after;
// on a busy machine it has not accepted the connection by then, which ends with ECONNRESET.

const ofPostgresJs = /^(CONNECTION_(DESTROYED|ENDED|CLOSED)|57014)$/

interface Rejection {
  readonly code?: string
  readonly syscall?: string
}

/** Passes over those rejections. @param isPeer whether a queue of Fedify is measured: no reset is passed over for one of ours */
export function passOverCancelled(isPeer: () => boolean): void {
  process.on('unhandledRejection', (error: Rejection) => {
    const isReset = error.code === 'ECONNRESET' && error.syscall === 'read' && isPeer()
    if (!isReset && !ofPostgresJs.test(error.code ?? '')) throw error
  })
}
