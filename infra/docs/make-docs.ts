// npm run docs: writes the pages that are made from schemas.
import { writeFile } from 'node:fs/promises';
import { compatibilityPage } from './compatibility-page.ts';
import { eventPage } from './event-page.ts';
import { metricsPage } from './metrics-page.ts';
import { settingsPage } from './settings-page.ts';

const docs = new URL('../../docs/', import.meta.url);
await writeFile(new URL('events.md', docs), eventPage());
await writeFile(new URL('configuration.md', docs), settingsPage());
await writeFile(new URL('metrics.md', docs), metricsPage());
await writeFile(new URL('compatibility.md', docs), compatibilityPage());
