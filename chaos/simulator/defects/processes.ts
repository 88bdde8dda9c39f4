// Defects of one process: what it does, not what the storage does.

import type { Storage } from 'holdfast'
import type { Claim } from 'holdfast/storage'
import { type CallWrapper, wrapStorage } from '../../wrap-storage.ts'
import type { Defect } from './defect.ts'

function ofProcess(
  name: string,
  breaks: readonly string[],
  sentence: string,
  make: (storage: Storage) => CallWrapper,
): Defect {
  return {
    name,
    sentence,
    breaks,
    atProcess: (storage, node) => (node.startsWith('worker') ? wrapStorage(storage, make(storage)) : storage),
  }
}

const nothing: Claim = { jobs: [], recovered: [], ended: [], settled: [] }

export const processDefects: readonly Defect[] = [
  ofProcess('heartbeat-outlives-stop', ['S26'], 'calls go on after the stop', (storage) => async (verb, _, call) => {
    const answer = await call()
    if (verb === 'disconnect')
      void (async () => {
        for (let index = 0; index < 5; index++) await storage.get([])
      })().catch(() => {})
    return answer
  }),
  ofProcess('never-returns', ['L4'], 'after its first failed claim, a worker claims no more', () => {
    let isBroken = false
    return async (verb, _, call) => {
      if (verb !== 'claim') return call()
      if (isBroken) return new Promise(() => {})
      try {
        return await call()
      } catch (error) {
        isBroken = true
        throw error
      }
    }
  }),
  {
    name: 'sleeps-without-end',
    sentence: 'a worker that listens claims after a hint only',
    breaks: ['L5', 'L1', 'L2'],
    atProcess: (storage, node) => {
      if (!node.startsWith('worker')) return storage
      let isHinted = true
      const wrapped = wrapStorage(storage, async (verb, args, call) => {
        const outcomes = (args[0] as { outcomes?: readonly unknown[] } | undefined)?.outcomes ?? []
        if (verb !== 'claim' || isHinted || outcomes.length > 0) {
          if (verb === 'claim') isHinted = false
          return call()
        }
        return nothing
      })
      return {
        ...wrapped,
        listen: (topics, onSignal) =>
          wrapped.listen(topics, (signal) => {
            isHinted = true
            onSignal(signal)
          }),
      }
    },
  },
]
