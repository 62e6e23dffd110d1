import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { compatibilityPage } from './compatibility-page.ts';
import { eventPage } from './event-page.ts';
import { metricsPage } from './metrics-page.ts';
import { settingsPage } from './settings-page.ts';

const page = (name: string) => readFile(new URL(`../../docs/${name}`, import.meta.url), 'utf8');

test('docs/events.md is what the schemas say (else: npm run docs)', async () => {
  expect(await page('events.md')).toBe(eventPage());
});

test('docs/configuration.md is what the schemas say (else: npm run docs)', async () => {
  expect(await page('configuration.md')).toBe(settingsPage());
});

test('docs/metrics.md is what the services register (else: npm run docs)', async () => {
  expect(await page('metrics.md')).toBe(metricsPage());
});

test('docs/compatibility.md is what serving reads requests by (else: npm run docs)', async () => {
  expect(await page('compatibility.md')).toBe(compatibilityPage());
});
