import uPlot from 'uplot';
import type { Learning } from '../api/shapes.ts';

type Points = {
  readonly xs: number[];
  readonly share: number[];
  readonly low: number[];
  readonly high: number[];
};

const HEIGHT = 240;
/** One drawing per element. */
const charts = new WeakMap<Element, { readonly chart: uPlot; readonly stop: () => void; shown: string }>();

const colour = (name: string): string =>
  getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** Share of good verdicts with its interval, by version or by time. The page shows the same numbers as a table. */
export function drawShares(element: Element | undefined, learning: Learning, by: 'version' | 'time'): void {
  if (element === undefined) return;
  const points = pointsOf(learning, by);
  const shown = JSON.stringify([by, points, matchMedia('(prefers-color-scheme: dark)').matches]);
  const old = charts.get(element);
  if (old?.shown === shown) return;
  old?.stop();
  const chart = new uPlot(
    optionsOf(element, by, points.xs),
    [points.xs, points.high, points.low, points.share] as uPlot.AlignedData,
    element as HTMLElement,
  );
  const observer = new ResizeObserver(() => chart.setSize({ width: widthOf(element), height: HEIGHT }));
  observer.observe(element);
  const stop = () => {
    observer.disconnect();
    chart.destroy();
  };
  charts.set(element, { chart, stop, shown });
}

/** Groups without a verdict have no share. */
function pointsOf({ versions, overTime }: Learning, by: 'version' | 'time'): Points {
  const groups =
    by === 'version'
      ? versions.map((point) => ({ x: point.version, ...point }))
      : overTime.map((point) => ({ x: (point.from + point.to) / 2 / 1000, ...point }));
  const known = groups.filter(({ total }) => total > 0);
  return {
    xs: known.map(({ x }) => x),
    share: known.map(({ share }) => 100 * share),
    low: known.map(({ low }) => 100 * low),
    high: known.map(({ high }) => 100 * high),
  };
}

const widthOf = (element: Element): number => Math.max(240, Math.floor(element.clientWidth));

function optionsOf(element: Element, by: 'version' | 'time', xs: readonly number[]): uPlot.Options {
  const axis = {
    stroke: colour('--ink-soft'),
    grid: { stroke: colour('--line'), width: 1 },
    ticks: { stroke: colour('--line') },
  };
  const edge = { stroke: colour('--band-edge'), width: 1, points: { show: false } };
  const whole = (_chart: uPlot, splits: number[]) =>
    splits.map((value) => (Number.isInteger(value) ? `v${value}` : ''));
  return {
    width: widthOf(element),
    height: HEIGHT,
    legend: { show: false },
    cursor: { show: false },
    scales: { x: { time: by === 'time', range: () => rangeOf(xs, by) }, y: { range: [0, 100] } },
    hooks: { draw: [drawIntervals] },
    axes: [
      by === 'version'
        ? { ...axis, values: whole, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000] }
        : axis,
      { ...axis, size: 52, values: (_chart, splits) => splits.map((value) => `${value} %`) },
    ],
    bands: [{ series: [1, 2], fill: colour('--band') }],
    series: [
      {},
      edge,
      edge,
      { stroke: colour('--accent'), width: 2, points: { show: true, size: 8, fill: colour('--accent') } },
    ],
  };
}

/** Room beside the first and the last point; one point alone would have none. */
function rangeOf(xs: readonly number[], by: 'version' | 'time'): uPlot.Range.MinMax {
  const [first = 0, last = first] = [xs[0], xs.at(-1)];
  const room = by === 'version' ? 0.5 : Math.max(900, (last - first) / 20);
  return [first - room, last + room];
}

/** Points with wide intervals are far apart at first, where a band alone would not be seen. */
const MOST_BARS = 60;

function drawIntervals(chart: uPlot): void {
  const [xs, high, low] = chart.data;
  if (xs.length > MOST_BARS) return;
  const { ctx } = chart;
  ctx.save();
  ctx.strokeStyle = colour('--band-edge');
  ctx.lineWidth = 2 * devicePixelRatio;
  for (const [index, x] of xs.entries()) {
    const at = chart.valToPos(x, 'x', true);
    ctx.beginPath();
    ctx.moveTo(at, chart.valToPos(low![index]!, 'y', true));
    ctx.lineTo(at, chart.valToPos(high![index]!, 'y', true));
    ctx.stroke();
  }
  ctx.restore();
}
