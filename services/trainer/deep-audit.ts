import { headFold } from '../../shared/lineage/head-fold.ts';
import { runDeepAudit } from '../../shared/runtime/deep-audit-program.ts';

/** The trainer's part of `clawloop audit --deep`: its fold has rows, and emits no facts. */
process.exitCode = await runDeepAudit([{ group: 'trainer', fold: headFold, decides: [] }]);
