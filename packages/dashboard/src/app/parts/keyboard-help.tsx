// The list of keys.

import { Dialog } from './dialog.tsx'

const keys: readonly (readonly [key: string, does: string])[] = [
  ['/', 'search jobs'],
  ['g o', 'go to the overview'],
  ['g j', 'go to the jobs'],
  ['g t', 'go to the types'],
  ['g s', 'go to the schedules'],
  ['g w', 'go to the workers'],
  ['g l', 'go to the limits'],
  ['g f', 'go to the findings'],
  ['g a', 'go to the audit log'],
  ['g p', 'go to the peers of a federation'],
  ['j, k', 'move down and up in a list'],
  ['x', 'select the job'],
  ['Enter', 'open the job'],
  ['r', 'retry the job, or those selected'],
  ['e', 'edit the payload and replay the job'],
  ['c', 'cancel the job, or those selected'],
  ['?', 'show this list'],
]

export function KeyboardHelp({ onClose }: { readonly onClose: () => void }) {
  return (
    <Dialog title="Keyboard" onClose={onClose}>
      <dl class="keys">
        {keys.map(([key, does]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  )
}
