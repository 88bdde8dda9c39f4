// The cells that one process runs together: the cells of the rig of a driver share a run, each other cell has its own.

import type { Cell } from './cells.ts'

export function groupsOf(cells: readonly Cell[]): Cell[][] {
  const ofRig = Map.groupBy(cells.filter(isOfRig), ({ driver }) => driver)
  return [...ofRig.values(), ...cells.filter((cell) => !isOfRig(cell)).map((cell) => [cell])]
}

const isOfRig = ({ way }: Cell): boolean => way.by === 'rig'
