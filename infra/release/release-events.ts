import { writeFileSync } from 'node:fs';
import { currentSchemas, readReleased, releasedPath, unannounced } from './event-schemas.ts';

// `npm run release:events` records the event schemas of this code as released.
const wrong = unannounced(readReleased(), currentSchemas());
for (const line of wrong) console.error(`release:events: ${line}`);
if (wrong.length > 0) process.exit(1);
writeFileSync(releasedPath, `${JSON.stringify(currentSchemas(), null, 2)}\n`);
console.log(`release:events: wrote ${Object.keys(currentSchemas()).length} schemas to ${releasedPath}`);
