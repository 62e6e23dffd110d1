import type { SeedReport } from './run-seed.ts';

const WIDTH = 720;
const HEIGHT = 360;
const MARGIN = { left: 56, right: 150, top: 24, bottom: 44 };
const colors = { true: '#0b6e4f', false: '#b3541e' } as const;

/** A measured share by attempts: every seed thin, their mean thick. */
export function drawLearning(measured: string, reports: readonly SeedReport[]): string {
  const most = Math.max(1, ...reports.flatMap(({ points }) => points.map(({ attempts }) => attempts)));
  const x = (attempts: number) =>
    (MARGIN.left + (attempts / most) * (WIDTH - MARGIN.left - MARGIN.right)).toFixed(1);
  const y = (share: number) =>
    (HEIGHT - MARGIN.bottom - share * (HEIGHT - MARGIN.top - MARGIN.bottom)).toFixed(1);
  const curve = (points: readonly (readonly [number, number])[], color: string, style: string) => {
    const path = points.map(([at, share], index) => `${index === 0 ? 'M' : 'L'}${x(at)} ${y(share)}`);
    return `<path d="${path.join(' ')}" fill="none" stroke="${color}" ${style}/>`;
  };
  const curvesOf = (learning: boolean) => {
    const runs = reports.filter((report) => report.learning === learning);
    const seeds = runs.map(({ points }) => points.map((point) => [point.attempts, point.heldOut] as const));
    const color = colors[`${learning}`];
    return [
      ...seeds.map((points) => curve(points, color, 'stroke-width="0.8" opacity="0.4"')),
      ...(seeds.length === 0 ? [] : [curve(meanCurve(seeds), color, 'stroke-width="2.4"')]),
    ];
  };
  const grid = [0, 0.2, 0.4, 0.6, 0.8, 1].map(
    (share) =>
      `<line x1="${MARGIN.left}" x2="${WIDTH - MARGIN.right}" y1="${y(share)}" y2="${y(share)}" stroke="#ddd"/>` +
      `<text x="${MARGIN.left - 8}" y="${Number(y(share)) + 4}" text-anchor="end">${share * 100} %</text>`,
  );
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((part) => Math.round(part * most));
  const labels = ticks.map(
    (tick) => `<text x="${x(tick)}" y="${HEIGHT - MARGIN.bottom + 18}" text-anchor="middle">${tick}</text>`,
  );
  const right = WIDTH - MARGIN.right + 12;
  const middle = (MARGIN.left + WIDTH - MARGIN.right) / 2;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="12">
<title>${measured}, by attempts</title>
<rect width="${WIDTH}" height="${HEIGHT}" fill="white"/>
${grid.join('\n')}
${labels.join('\n')}
<text x="${middle}" y="${HEIGHT - 8}" text-anchor="middle">attempts</text>
${[false, true].flatMap(curvesOf).join('\n')}
<text x="${right}" y="${MARGIN.top + 12}" fill="${colors.true}">with learning</text>
<text x="${right}" y="${MARGIN.top + 30}" fill="${colors.false}">learning paused</text>
</svg>
`;
}

/** Mean of curves that were measured after the same numbers of attempts. */
const meanCurve = (seeds: readonly (readonly (readonly [number, number])[])[]) =>
  seeds[0]!.map(
    ([at], index) => [at, seeds.reduce((sum, points) => sum + points[index]![1], 0) / seeds.length] as const,
  );
