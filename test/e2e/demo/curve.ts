import type { SeedReport } from './run-seed.ts';

const WIDTH = 720;
const HEIGHT = 360;
const MARGIN = { left: 56, right: 150, top: 24, bottom: 44 };

/** The share of held-out answers that meet the taste, by session, with learning and without. */
export function drawCurve(reports: readonly SeedReport[], sessions: number): string {
  const x = (session: number) => MARGIN.left + (session / sessions) * (WIDTH - MARGIN.left - MARGIN.right);
  const y = (share: number) => HEIGHT - MARGIN.bottom - share * (HEIGHT - MARGIN.top - MARGIN.bottom);
  const line = (report: SeedReport) => {
    const last = report.points.at(-1);
    const points = last === undefined ? report.points : [...report.points, { ...last, session: sessions }];
    const path = points
      .map(({ session, met }, index) => `${index === 0 ? 'M' : 'L'}${x(session)} ${y(met)}`)
      .join(' ');
    const color = report.learning ? '#0b6e4f' : '#b3541e';
    const dots = report.points.map(
      ({ session, met }) => `<circle cx="${x(session)}" cy="${y(met)}" r="2.5" fill="${color}"/>`,
    );
    return `<path d="${path}" fill="none" stroke="${color}" stroke-width="1.5" opacity="0.8"/>${dots.join('')}`;
  };
  const grid = [0, 0.2, 0.4, 0.6, 0.8, 1].map(
    (share) =>
      `<line x1="${MARGIN.left}" x2="${WIDTH - MARGIN.right}" y1="${y(share)}" y2="${y(share)}" stroke="#ddd"/>` +
      `<text x="${MARGIN.left - 8}" y="${y(share) + 4}" text-anchor="end">${share * 100} %</text>`,
  );
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((part) => Math.round(part * sessions));
  const labels = ticks.map(
    (tick) => `<text x="${x(tick)}" y="${HEIGHT - MARGIN.bottom + 18}" text-anchor="middle">${tick}</text>`,
  );
  const right = WIDTH - MARGIN.right + 12;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="12">
<title>share of held-out answers that meet the taste, by sessions chatted</title>
<rect width="${WIDTH}" height="${HEIGHT}" fill="white"/>
${grid.join('\n')}
${labels.join('\n')}
<text x="${(MARGIN.left + WIDTH - MARGIN.right) / 2}" y="${HEIGHT - 8}" text-anchor="middle">sessions chatted</text>
${reports.map(line).join('\n')}
<text x="${right}" y="${MARGIN.top + 12}" fill="#0b6e4f">with learning</text>
<text x="${right}" y="${MARGIN.top + 30}" fill="#b3541e">learning paused</text>
<text x="${right}" y="${MARGIN.top + 56}">${reports.filter(({ learning }) => learning).length} seeds</text>
</svg>
`;
}
