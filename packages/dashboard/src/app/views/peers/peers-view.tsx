// The other servers of a federation: how they are, and what waits for them.

import { useState } from 'preact/hooks'
import type { PeerRow, PeersPage } from '../../../shared/api.ts'
import { runAction } from '../../lib/run-action.ts'
import { counted, number } from '../../lib/words.ts'
import { Ago } from '../../parts/ago.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { TableHead } from '../../parts/table-head.tsx'
import { useLive } from '../../state/live.ts'
import { may, session } from '../../state/session.ts'

const columns = ['Server', 'State', 'Waiting', 'Last contact', 'Last error']

export function PeersView() {
  const live = useLive<PeersPage>(session.value?.hasPeers ? 'peers' : undefined)
  const [blocked, setBlocked] = useState<string>()
  return (
    <>
      <header class="page-head">
        <h1>Peers</h1>
      </header>
      {session.value?.hasPeers ? (
        <Loaded live={live} what="Reading the peers">
          {({ peers, hasMore }) =>
            peers.length === 0 ? (
              <Empty title="No other server yet">
                <p>A server appears here when it is discovered: by the first delivery to it, or from it.</p>
              </Empty>
            ) : (
              <section class="panel" aria-label="Peers">
                <table class="cards">
                  <TableHead columns={columns} right={['Waiting']} hasActions={may('peers')} />
                  <tbody>
                    {peers.map((peer) => (
                      <Row key={peer.origin} peer={peer} onBlock={setBlocked} />
                    ))}
                  </tbody>
                </table>
                {hasMore && <p class="muted">Only the first {counted(peers.length, 'server')} are shown.</p>}
              </section>
            )
          }
        </Loaded>
      ) : (
        <Empty title="No federation">
          <p>Give the dashboard the peers of your federation, and they appear here:</p>
          <pre class="code">{'createDashboard({ storage, authorize, peers: federation.peers })'}</pre>
        </Empty>
      )}
      {blocked !== undefined && <BlockDialog origin={blocked} onClose={() => setBlocked(undefined)} />}
    </>
  )
}

const tones: Readonly<Record<string, string>> = { healthy: 'completed', unhealthy: 'failing', blocked: 'failed' }

function Row({ peer, onBlock }: { readonly peer: PeerRow; readonly onBlock: (origin: string) => void }) {
  const { origin, state, why, lastSeen, open, oldestOpenAt, lastError, contact, isPaused } = peer
  const next = contact && contact.nextContactAt > 0 ? contact.nextContactAt : undefined
  return (
    <tr>
      <th scope="row">
        <bdi>{origin.replace(/^https:\/\//, '')}</bdi>
      </th>
      <td data-label="State" class="badges">
        <span class={`badge state-${tones[state] ?? 'queued'}`} title={why}>
          {state}
        </span>
        {isPaused && <span class="badge state-cancelled">paused</span>}
        {contact && contact.failures > 0 && (
          <span class="line note">{counted(contact.failures, 'failed contact')}</span>
        )}
      </td>
      <td class="right num" data-label="Waiting">
        {number(open)}
        {oldestOpenAt !== undefined && (
          <span class="line note">
            oldest <Ago at={oldestOpenAt} />
          </span>
        )}
      </td>
      <td class="num" data-label="Last contact">
        <Ago at={lastSeen} />
        {next !== undefined && (
          <span class="line note">
            next <Ago at={next} />
          </span>
        )}
      </td>
      <td data-label="Last error">
        {lastError === undefined ? <span class="muted">–</span> : <code>{lastError}</code>}
      </td>
      {may('peers') && (
        <td class="right">
          <Buttons peer={peer} onBlock={onBlock} />
        </td>
      )}
    </tr>
  )
}

interface ButtonsProps {
  readonly peer: PeerRow
  readonly onBlock: (origin: string) => void
}

function Buttons({ peer: { origin, state, isPaused }, onBlock }: ButtonsProps) {
  const act = (action: string, say: (status: string) => string): void =>
    void runAction<{ status: string }>(`peers/${action}`, { url: origin }, ({ status }) => say(status))
  return (
    <span class="button-row">
      <button
        type="button"
        class="small"
        aria-label={`Contact ${origin} now`}
        onClick={() =>
          act('contact', (status) => `${origin} ${status === 'healthy' ? 'answers' : 'does not answer with its keys'}.`)
        }
      >
        Contact
      </button>
      <button
        type="button"
        class="small"
        aria-label={`${isPaused ? 'Resume' : 'Pause'} ${origin}`}
        onClick={() =>
          act(isPaused ? 'resume' : 'pause', () => `Deliveries to ${origin} ${isPaused ? 'go on' : 'are paused'}.`)
        }
      >
        {isPaused ? 'Resume' : 'Pause'}
      </button>
      {state === 'blocked' ? (
        <button
          type="button"
          class="small"
          aria-label={`Unblock ${origin}`}
          onClick={() => act('unblock', () => `${origin} is not blocked any more.`)}
        >
          Unblock
        </button>
      ) : (
        <button type="button" class="small" aria-label={`Block ${origin}`} onClick={() => onBlock(origin)}>
          Block…
        </button>
      )}
    </span>
  )
}

function BlockDialog({ origin, onClose }: { readonly origin: string; readonly onClose: () => void }) {
  const [reason, setReason] = useState('')
  const block = async (event: Event): Promise<void> => {
    event.preventDefault()
    const body = { url: origin, ...(reason !== '' && { reason }) }
    if (await runAction('peers/block', body, () => `${origin} is blocked.`)) onClose()
  }
  return (
    <Dialog title={`Block ${origin}`} onClose={onClose}>
      <form onSubmit={(event) => void block(event)}>
        <p>Nothing is delivered to this server any more, and its messages are refused, until it is unblocked.</p>
        <label class="field">
          Reason
          <input type="text" value={reason} onInput={({ currentTarget }) => setReason(currentTarget.value)} />
        </label>
        <div class="dialog-actions">
          <button type="button" onClick={onClose}>
            Leave it
          </button>
          <button type="submit" class="danger">
            Block
          </button>
        </div>
      </form>
    </Dialog>
  )
}
