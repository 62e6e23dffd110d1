import { eventLogContract } from './event-log.ts';
import { sqliteHarness } from './sqlite-event-log-harness.ts';

eventLogContract('SQLite log', () => sqliteHarness());
