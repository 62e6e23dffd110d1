import { createHash } from 'node:crypto';
import { assembleSettings, submitSettings } from '../../../services/collector/settings.ts';
import { CollectorConfig } from '../../../shared/config/collector.ts';
import { CLAW_NANO } from '../../../shared/policy/model/model-folder.ts';
import { addJsonLine, readJsonLines } from '../json-lines.ts';
import type { CellKey, CellReport, Lengths } from './cell.ts';
import type { Evaluation } from './evaluate.ts';
import type { LoopOptions } from './loop.ts';
import { tastes } from './tastes.ts';

/** Increased when a change of the bench changes the results of a cell. */
const REVISION = 2;

/** A line of the results. Lines of another `protocol` do not count. */
export type Line = { readonly protocol: string } & (
  | ({ readonly kind: 'cell' } & CellReport)
  | { readonly kind: 'prior'; readonly taste: string; readonly prior: Evaluation }
);
export type CellLine = Extract<Line, { kind: 'cell' }>;
export type PriorLine = Extract<Line, { kind: 'prior' }>;

/** Name of everything that determines a result except the machine: settings of learning, lengths, tastes. */
export function protocolOf(lengths: Lengths, settings: LoopOptions['settings'] = {}): string {
  const config = CollectorConfig.parse({ ...settings, model: CLAW_NANO });
  const about = tastes.map(({ name, about: what }) => [name, what]);
  const all = [REVISION, submitSettings(config), assembleSettings(config), lengths, about];
  return createHash('sha256').update(JSON.stringify(all)).digest('hex').slice(0, 12);
}

export const cellName = ({ method, taste, seed }: CellKey): string => `${taste}, ${method}, seed ${seed}`;

export const readLines = (file: string): Promise<readonly Line[]> => readJsonLines<Line>(file);
export const addLine = (file: string, line: Line): Promise<void> => addJsonLine(file, line);
