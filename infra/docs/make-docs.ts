// npm run docs: writes the pages that are made from schemas.
import { readFile, writeFile } from 'node:fs/promises';
import { whereDidMyTurnGo } from '../../services/collector/where-did-my-turn-go.ts';
import { fieldTables } from './compatibility-page.ts';
import { dialectTable } from './dialect-table.ts';
import { eventTables } from './event-page.ts';
import { replaceGeneratedPart } from './generated-part.ts';
import { metricsPage } from './metrics-page.ts';
import { settingsPage } from './settings-page.ts';
import { trainingDefaultsTable } from './training-defaults-table.ts';
import { gpuTables } from './training-server-estimates.ts';

const docs = new URL('../../docs/', import.meta.url);
await replaceIn('understand/events.md', 'events', eventTables());
await replaceIn('understand/learning.md', 'defaults', trainingDefaultsTable());
await replaceIn('operate/hosted-training.md', 'dialects', dialectTable());
await writeFile(new URL('operate/configuration.md', docs), settingsPage());
await writeFile(new URL('operate/metrics.md', docs), metricsPage());
await replaceAllIn('operate/gpu.md', gpuTables());
await replaceAllIn('use/api.md', fieldTables());
await replaceAllIn('use/where-did-my-turn-go.md', whereDidMyTurnGo());

async function replaceAllIn(name: string, parts: Readonly<Record<string, string>>): Promise<void> {
  for (const [part, text] of Object.entries(parts)) await replaceIn(name, part, text);
}

async function replaceIn(name: string, part: string, text: string): Promise<void> {
  const page = new URL(name, docs);
  await writeFile(page, replaceGeneratedPart(await readFile(page, 'utf8'), part, text));
}
