import type { FastifyInstance } from 'fastify';
import type { ApiDeps } from './api-deps.ts';
import { registerChat } from './chat/chat.ts';
import { registerEnvironments } from './environments.ts';
import { registerFeedback } from './feedback.ts';
import { registerMessages } from './messages/messages.ts';
import { registerModels } from './models.ts';
import { registerOperator } from './operator.ts';
import { registerResponses } from './responses/responses.ts';
import { registerRewardSessions } from './reward-sessions.ts';
import { registerSessions } from './sessions.ts';

/** Adds the routes of all APIs. */
export function registerRoutes(server: FastifyInstance, deps: ApiDeps): void {
  registerChat(server, deps);
  registerMessages(server, deps);
  registerResponses(server, deps);
  registerModels(server, deps);
  registerFeedback(server, deps);
  registerSessions(server, deps);
  registerRewardSessions(server, deps);
  registerEnvironments(server, deps);
  registerOperator(server, deps);
}
