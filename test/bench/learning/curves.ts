import type { Method } from './loop.ts';
import { mean, methodNames } from './report.ts';
import type { CellLine } from './results.ts';
import { tastes } from './tastes.ts';

const PANEL = { width: 250, height: 200, gap: 24 };
const MARGIN = { left: 48, top: 40, bottom: 44, right: 110 };

const colors: Readonly<Record<Method, string>> = {
  combine: '#0b6e4f',
  binary: '#1f5fa8',
  opd: '#8a4fb0',
  none: '#b3541e',
};

/** Per taste, the share of held-out answers that meet it, by sessions: every seed thin, their mean thick. */
export function drawCurves(cells: readonly CellLine[], sessions: number): string {
  const width = MARGIN.left + tastes.length * (PANEL.width + PANEL.gap) + MARGIN.right;
  const height = MARGIN.top + PANEL.height + MARGIN.bottom;
  const panels = tastes.map(({ name, kind }, index) => {
    const left = MARGIN.left + index * (PANEL.width + PANEL.gap);
    const mine = cells.filter(({ taste }) => taste === name);
    return panel(`${kind}: ${name}`, left, mine, sessions, index === 0);
  });
  const right = width - MARGIN.right + 4;
  const legend = (Object.keys(methodNames) as Method[]).map(
    (method, index) =>
      `<text x="${right}" y="${MARGIN.top + 12 + 18 * index}" fill="${colors[method]}">${methodNames[method]}</text>`,
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="12">
<title>share of held-out answers that meet the taste, by sessions chatted</title>
<rect width="${width}" height="${height}" fill="white"/>
${panels.join('\n')}
${legend.join('\n')}
</svg>
`;
}

function panel(
  title: string,
  left: number,
  cells: readonly CellLine[],
  sessions: number,
  withShares: boolean,
): string {
  const x = (session: number) => (left + (session / sessions) * PANEL.width).toFixed(1);
  const y = (share: number) => (MARGIN.top + (1 - share) * PANEL.height).toFixed(1);
  const line = (shares: readonly number[], method: Method, style: string) => {
    const path = shares
      .map((share, session) => `${session === 0 ? 'M' : 'L'}${x(session)} ${y(share)}`)
      .join(' ');
    return `<path d="${path}" fill="none" stroke="${colors[method]}" ${style}/>`;
  };
  const curves = (Object.keys(methodNames) as Method[]).flatMap((method) => {
    const seeds = cells
      .filter((cell) => cell.method === method)
      .map(({ points }) => points.map(({ met }) => met));
    if (seeds.length === 0) return [];
    const average = seeds[0]!.map((_, session) => mean(seeds.map((shares) => shares[session]!)));
    return [
      ...seeds.map((shares) => line(shares, method, 'stroke-width="0.7" opacity="0.35"')),
      line(average, method, 'stroke-width="2.2"'),
    ];
  });
  const grid = [0, 0.25, 0.5, 0.75, 1].map(
    (share) =>
      `<line x1="${left}" x2="${left + PANEL.width}" y1="${y(share)}" y2="${y(share)}" stroke="#ddd"/>` +
      (withShares
        ? `<text x="${left - 6}" y="${Number(y(share)) + 4}" text-anchor="end">${share * 100} %</text>`
        : ''),
  );
  const bottom = MARGIN.top + PANEL.height;
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((part) => {
    const session = Math.round(part * sessions);
    return `<text x="${x(session)}" y="${bottom + 16}" text-anchor="middle">${session}</text>`;
  });
  return [
    `<text x="${left}" y="${MARGIN.top - 14}" font-weight="bold">${title}</text>`,
    ...grid,
    ...ticks,
    ...curves,
    `<text x="${left + PANEL.width / 2}" y="${bottom + 34}" text-anchor="middle">sessions chatted</text>`,
  ].join('\n');
}
