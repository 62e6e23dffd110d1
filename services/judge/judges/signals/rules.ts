import { complaints } from './complaints.ts';
import { corrections } from './corrections.ts';
import { formCorrections } from './form-corrections.ts';
import { praise } from './praise.ts';
import type { Rule } from './rule.ts';

/** The whole table. Order is of no matter: per clause and direction the strongest rule that fires counts. */
export const rules: readonly Rule[] = [...praise, ...complaints, ...corrections, ...formCorrections];
