/** One point of the training curve; losses in nats per assistant token. */
export type CurvePoint = {
  readonly step: number;
  /** Tokens trained so far, without padding. */
  readonly tokens: number;
  /** Mean since the previous point. */
  readonly trainingLoss: number;
  /** Loss on dialogues that are never trained on. */
  readonly heldOutLoss: number;
};

const width = 720;
const height = 360;
const margin = { left: 64, right: 24, top: 40, bottom: 52 } as const;

type Scale = (value: number) => number;

const linear =
  (from: number, to: number, start: number, end: number): Scale =>
  (value) =>
    start + ((value - from) / (to - from)) * (end - start);

const path = (points: readonly (readonly [number, number])[]): string =>
  points.map(([x, y], index) => `${index === 0 ? 'M' : 'L'}${x.toFixed(1)} ${y.toFixed(1)}`).join(' ');

/** Draws the curve as SVG, with a logarithmic axis for the losses, so that small differences at the end are visible. */
export function drawCurve(points: readonly CurvePoint[], title: string): string {
  const losses = points.flatMap(({ trainingLoss, heldOutLoss }) => [trainingLoss, heldOutLoss]);
  const lowest = 2 ** Math.floor(Math.log2(Math.min(...losses)));
  const highest = 2 ** Math.ceil(Math.log2(Math.max(...losses)));
  const most = points.at(-1)?.tokens ?? 1;
  const x = linear(0, most, margin.left, width - margin.right);
  const level = linear(Math.log2(lowest), Math.log2(highest), height - margin.bottom, margin.top);
  const y: Scale = (loss) => level(Math.log2(loss));
  const line = (loss: (point: CurvePoint) => number, colour: string): string =>
    `<path d="${path(points.map((point) => [x(point.tokens), y(loss(point))]))}" ` +
    `fill="none" stroke="${colour}" stroke-width="2"/>`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="13">`,
    `<title>${title}</title>`,
    '<rect width="100%" height="100%" fill="white"/>',
    `<text x="${margin.left}" y="22" font-size="15">${title}</text>`,
    ...lossTicks(lowest, highest, y),
    ...tokenTicks(most, x),
    line(({ trainingLoss }) => trainingLoss, '#8fb3d9'),
    line(({ heldOutLoss }) => heldOutLoss, '#c0392b'),
    legend('training', '#8fb3d9', 0),
    legend('held out', '#c0392b', 1),
    '</svg>',
    '',
  ].join('\n');
}

const lossTicks = (lowest: number, highest: number, y: Scale): readonly string[] =>
  Array.from({ length: Math.log2(highest / lowest) + 1 }, (_, index) => {
    const loss = lowest * 2 ** index;
    return (
      `<line x1="${margin.left}" x2="${width - margin.right}" y1="${y(loss).toFixed(1)}" y2="${y(loss).toFixed(1)}" ` +
      `stroke="#ddd"/><text x="${margin.left - 8}" y="${(y(loss) + 4).toFixed(1)}" text-anchor="end">${loss}</text>`
    );
  });

const tokenTicks = (most: number, x: Scale): readonly string[] => [
  ...Array.from({ length: 5 }, (_, index) => {
    const tokens = (most * index) / 4;
    const label = `${(tokens / 1e6).toFixed(1)} M`;
    return `<text x="${x(tokens).toFixed(1)}" y="${height - margin.bottom + 20}" text-anchor="middle">${label}</text>`;
  }),
  `<text x="${(margin.left + width - margin.right) / 2}" y="${height - 10}" text-anchor="middle">tokens seen</text>`,
  `<text x="16" y="${height / 2}" text-anchor="middle" transform="rotate(-90 16 ${height / 2})">nats per token</text>`,
];

function legend(name: string, colour: string, row: number): string {
  const y = margin.top + 16 + row * 20;
  const x = width - margin.right - 120;
  return (
    `<line x1="${x}" x2="${x + 24}" y1="${y - 4}" y2="${y - 4}" stroke="${colour}" stroke-width="2"/>` +
    `<text x="${x + 32}" y="${y}">${name}</text>`
  );
}
