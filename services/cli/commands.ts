import type { Command } from './command.ts';
import { audit } from './commands/audit.ts';
import { backup } from './commands/backup.ts';
import { demo } from './commands/demo.ts';
import { deploy } from './commands/deploy.ts';
import { doctor } from './commands/doctor.ts';
import { env } from './commands/env.ts';
import { feedback } from './commands/feedback.ts';
import { forget } from './commands/forget.ts';
import { keys } from './commands/keys.ts';
import { learning } from './commands/learning.ts';
import { model } from './commands/model.ts';
import { openclaw } from './commands/openclaw.ts';
import { policy } from './commands/policy.ts';
import { replay } from './commands/replay.ts';
import { restore } from './commands/restore.ts';
import { rollout } from './commands/rollout.ts';
import { services } from './commands/services.ts';
import { sessions } from './commands/sessions.ts';
import { test } from './commands/test.ts';
import { topics } from './commands/topics.ts';
import { trim } from './commands/trim.ts';
import { turns } from './commands/turns.ts';
import { up } from './commands/up.ts';

/** In the order in which help lists them. */
export const commands: readonly Command[] = [
  up,
  ...services,
  deploy,
  topics,
  sessions,
  turns,
  policy,
  learning,
  model,
  feedback,
  demo,
  test,
  rollout,
  env,
  keys,
  openclaw,
  audit,
  replay,
  backup,
  restore,
  forget,
  trim,
  doctor,
];
