// The chain of a job, with the chains that it waits for, as a graph from left to right.

import { useRef, useState } from 'preact/hooks'
import type { JobPageData, JobTree } from '../../../shared/api.ts'
import { type Edge, type Graph, graphOf, type PlacedJob, unfinished } from '../../../shared/tree-layout.ts'
import { jobHref } from '../../lib/links.ts'
import { counted, shortId } from '../../lib/words.ts'
import { iconPath } from '../../parts/icon.tsx'
import { Loaded } from '../../parts/states.tsx'
import { useLive } from '../../state/live.ts'
import { to } from '../../state/location.ts'
import { ChainButtons } from './chain-buttons.tsx'

const [width, height, gapX, gapY, margin] = [196, 48, 56, 16, 8]
/** Least and greatest scale, and the factor of a step. */
const [leastZoom, mostZoom, zoomStep] = [0.2, 1.6, 1.25]
/** Of the frame, as style.css has it. */
const mostHeight = 480
/** With more jobs, the completed ones are folded at first. */
const foldedAbove = 60

export function ChainTab({ job: { face, name, id } }: { readonly job: JobPageData }) {
  const live = useLive<JobTree>(to('tree', { face, name, id }))
  return (
    <Loaded live={live} what="Reading the chain">
      {(tree) => <ChainGraph tree={tree} shown={{ face, name, id }} />}
    </Loaded>
  )
}

interface GraphProps {
  readonly tree: JobTree
  readonly shown: Pick<JobPageData, 'face' | 'name' | 'id'>
}

function ChainGraph({ tree, shown }: GraphProps) {
  const [isFolded, setFolded] = useState(tree.jobs.length > foldedAbove)
  const [zoom, setZoom] = useState(1)
  const frame = useRef<HTMLDivElement>(null)
  const jobs = isFolded ? unfinished(tree.jobs, shown) : tree.jobs
  const graph = graphOf({ jobs })
  const top = topIn(graph)
  const completed = tree.jobs.filter(({ state }) => state === 'completed').length
  const size = {
    x: graph.layers * (width + gapX) - gapX + 2 * margin,
    y: graph.rows * (height + gapY) - gapY + 2 * margin,
  }
  /** All of it, if it is not too small to be read then. */
  const fit = (): void => {
    const { clientWidth, clientHeight } = frame.current!
    const room = Math.min(clientWidth / size.x, Math.max(clientHeight, mostHeight) / size.y)
    setZoom(Math.min(mostZoom, Math.max(leastZoom, room)))
  }
  return (
    <>
      <div class="graph-bar">
        <span class="muted">
          {counted(tree.jobs.length, 'job')}
          {tree.truncated && ', and more that are not shown'}
        </span>
        {completed > 0 && tree.jobs.length > 1 && (
          <label class="switch">
            <input type="checkbox" checked={isFolded} onChange={() => setFolded(!isFolded)} />
            Hide {completed} completed
          </label>
        )}
        <ChainButtons jobs={tree.jobs} />
        <span class="button-row">
          <button
            type="button"
            class="small"
            disabled={zoom <= leastZoom}
            onClick={() => setZoom(Math.max(leastZoom, zoom / zoomStep))}
            aria-label="Smaller"
          >
            −
          </button>
          <button
            type="button"
            class="small"
            disabled={zoom >= mostZoom}
            onClick={() => setZoom(Math.min(mostZoom, zoom * zoomStep))}
            aria-label="Larger"
          >
            +
          </button>
          <button type="button" class="small" onClick={fit}>
            Fit
          </button>
        </span>
      </div>
      <div ref={frame} class="graph" tabIndex={0} role="group" aria-label="Graph of the chain">
        <svg viewBox={`0 0 ${size.x} ${size.y}`} width={size.x * zoom} height={size.y * zoom}>
          {graph.edges.map((edge, index) => (
            <path key={index} class={`edge ${edge.kind}`} d={curve(edge, top)} />
          ))}
          {graph.jobs.map((placed) => (
            <Node
              key={`${placed.job.face}/${placed.job.name}/${placed.job.id}`}
              placed={placed}
              y={top(placed)}
              shown={shown}
            />
          ))}
        </svg>
      </div>
      <ul class="legend">
        <li>
          <span class="swatch edge-next" /> continues
        </li>
        <li>
          <span class="swatch edge-blocker" /> must complete before
        </li>
      </ul>
    </>
  )
}

const left = ({ layer }: PlacedJob): number => margin + layer * (width + gapX)
/** Layers with fewer jobs are centred. */
const topIn =
  ({ rows, rowsOf }: Graph) =>
  ({ layer, row }: PlacedJob): number =>
    margin + (row + (rows - rowsOf[layer]!) / 2) * (height + gapY)
type Top = ReturnType<typeof topIn>

function curve({ from, to: target }: Edge, top: Top): string {
  const [x1, y1] = [left(from) + width, top(from) + height / 2]
  const [x2, y2] = [left(target), top(target) + height / 2]
  const bend = Math.max(24, Math.abs(x2 - x1) / 2)
  return `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`
}

const short = (text: string, most: number): string => (text.length > most ? `${text.slice(0, most - 1)}…` : text)

interface NodeProps extends Pick<GraphProps, 'shown'> {
  readonly placed: PlacedJob
  readonly y: number
}

function Node({ placed, y, shown }: NodeProps) {
  const { job } = placed
  const isShown = job.id === shown.id && job.name === shown.name && job.face === shown.face
  return (
    <a
      href={`${jobHref(job)}&tab=chain`}
      class={`node state-${job.state}${isShown ? ' shown' : ''}`}
      aria-current={isShown ? 'true' : undefined}
    >
      <title>{`${job.name} ${job.id}: ${job.state}`}</title>
      <rect x={left(placed)} y={y} width={width} height={height} rx="6" />
      <path class="node-icon" d={iconPath(job.state)} transform={`translate(${left(placed) + 12} ${y + 16})`} />
      <text x={left(placed) + 38} y={y + 20}>
        {short(job.name, 21)}
      </text>
      <text class="node-id" x={left(placed) + 38} y={y + 37}>
        {shortId(job.id, 22)}
      </text>
    </a>
  )
}
