/** One line of /metrics; without the label `service`, which every line has. */
export type Sample = {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
};

export type Scrape = {
  /** Names of this project's metrics, without Node's own. */
  readonly names: readonly string[];
  /** Sum over the lines with that name and these labels; undefined: there is none. */
  readonly value: (name: string, labels?: Readonly<Record<string, string>>) => number | undefined;
};

/** @throws if the text is not in the format of Prometheus */
export async function scrape(url: string): Promise<Scrape> {
  const response = await fetch(`${url}/metrics`);
  const text = await response.text();
  if (!response.ok) throw new Error(`status ${response.status}: ${text}`);
  const lines = text.split('\n').filter((line) => line !== '');
  const samples = lines.filter((line) => !line.startsWith('#')).map(parse);
  const described = lines.flatMap((line) => /^# HELP (clawloop_\w+) ./.exec(line)?.[1] ?? []);
  return {
    names: described.sort((a, b) => a.localeCompare(b)),
    value: (name, labels = {}) => {
      const found = samples.filter(
        (one) => one.name === name && Object.entries(labels).every(([label, of]) => one.labels[label] === of),
      );
      return found.length === 0 ? undefined : found.reduce((sum, { value }) => sum + value, 0);
    },
  };
}

function parse(line: string): Sample {
  const match = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line);
  if (match === null) throw new Error(`not a line of /metrics: ${line}`);
  const [, name = '', text = '', value = ''] = match;
  const labels = Object.fromEntries(
    [...text.matchAll(/(\w+)="([^"]*)"/g)].map(([, label, of]) => [label!, of!]),
  );
  return { name, labels, value: Number(value) };
}
