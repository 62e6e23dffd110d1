import { runDeepAudit } from '../../shared/runtime/deep-audit-program.ts';
import { auditedFolds } from './audited-folds.ts';

/** The judge's part of `clawloop audit --deep`. */
process.exitCode = await runDeepAudit(auditedFolds);
