import { InteractionCompleted } from '../../../shared/events/interaction-completed.ts';

/** One answered message of a person. */
export const chat = (id: string, lane: string): InteractionCompleted =>
  InteractionCompleted.create({
    id,
    source: 'clawloop/test',
    time: '2026-01-01T00:00:00Z',
    data: {
      interactionId: id,
      requestId: `request-${id}`,
      api: 'chat',
      lane,
      key: 'key',
      adapter: 'default',
      live: true,
      settle: 'votes',
      model: 'clawloop',
      sampling: { temperature: 1, topP: 1, topK: 0, maxTokens: 64 },
      tokens: {
        promptIds: [1],
        responseIds: [2],
        logProbs: [-0.5],
        effectiveTemperature: 1,
        greedy: false,
        filters: { topP: 1, topK: 0 },
      },
      version: 0,
      engine: 'local',
      finishReason: 'stop',
      disconnected: false,
      timing: { startedAt: '2026-01-01T00:00:00Z', firstTokenMs: 1, totalMs: 2 },
      usage: { promptTokens: 1, completionTokens: 1 },
      messages: [{ role: 'user', content: 'How do I clean a pan?' }],
      answer: { role: 'assistant', content: 'With salt.' },
    },
  });
