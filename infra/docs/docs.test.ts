import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { whereDidMyTurnGo } from '../../services/collector/where-did-my-turn-go.ts';
import { fieldTables } from './compatibility-page.ts';
import { dialectTable } from './dialect-table.ts';
import { eventTables } from './event-page.ts';
import { generatedPart } from './generated-part.ts';
import { metricsPage } from './metrics-page.ts';
import { settingsPage } from './settings-page.ts';
import { trainingDefaultsTable } from './training-defaults-table.ts';
import { gpuTables } from './training-server-estimates.ts';

const page = (name: string) => readFile(new URL(`../../docs/${name}`, import.meta.url), 'utf8');

test('the event tables match the schemas (else: npm run docs)', async () => {
  expect(generatedPart(await page('understand/events.md'), 'events')).toBe(`\n${eventTables()}\n`);
});

test('the table of training defaults matches the code (else: npm run docs)', async () => {
  const table = generatedPart(await page('understand/learning.md'), 'defaults');
  expect(table).toBe(`\n${trainingDefaultsTable()}\n`);
});

test('the table of dialects matches the code (else: npm run docs)', async () => {
  const table = generatedPart(await page('operate/hosted-training.md'), 'dialects');
  expect(table).toBe(`\n${dialectTable()}\n`);
});

test('the settings page matches the schemas (else: npm run docs)', async () => {
  expect(await page('operate/configuration.md')).toBe(settingsPage());
});

test('the metrics page matches what the services register (else: npm run docs)', async () => {
  expect(await page('operate/metrics.md')).toBe(metricsPage());
});

test.each(Object.entries(gpuTables()))(
  'the table of %s matches its formulas (else: npm run docs)',
  async (part, text) => {
    expect(generatedPart(await page('operate/gpu.md'), part)).toBe(`\n${text}\n`);
  },
);

test.each(Object.entries(fieldTables()))(
  'the table of %s matches serving (else: npm run docs)',
  async (part, text) => {
    expect(generatedPart(await page('use/api.md'), part)).toBe(`\n${text}\n`);
  },
);

test.each(Object.entries(whereDidMyTurnGo()))(
  'the table of %s matches the collector (else: npm run docs)',
  async (part, text) => {
    expect(generatedPart(await page('use/where-did-my-turn-go.md'), part)).toBe(`\n${text}\n`);
  },
);
