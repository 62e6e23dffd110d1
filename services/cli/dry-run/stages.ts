import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import { excerpt } from '../../../shared/runtime/table.ts';
import { rounded } from '../../../shared/views/describe-turn.ts';

/** A stage between a request and served weights, with its result in one line. */
export type Stage = { readonly name: string; readonly result: string };

/** The stage that an event ends; undefined: none. */
export function stageOf(event: ClawLoopEvent): Stage | undefined {
  switch (event.type) {
    case 'interaction.completed': {
      const { version, finishReason, usage, timing } = event.data;
      const tokens = `${usage.promptTokens} + ${usage.completionTokens} tokens`;
      const times = `first token after ${Math.round(timing.firstTokenMs ?? timing.totalMs)} ms, all after ${Math.round(timing.totalMs)} ms`;
      return { name: 'answer', result: `${event.id}: v${version}, ${tokens}, ${finishReason}, ${times}` };
    }
    case 'interaction.failed':
      return { name: 'answer', result: `failed: ${event.data.code} ${event.data.message}` };
    case 'turn.completed': {
      const { rule, sessionBy, next } = event.data;
      return {
        name: 'turn',
        result: `main by rule ${rule}, session by ${sessionBy}, ${next.length} ${next.length === 1 ? 'message' : 'messages'} after it`,
      };
    }
    case 'turn.skipped':
      return { name: 'turn', result: `skipped: ${event.data.reason}` };
    case 'vote.cast': {
      const { vote, judge, hint, cost } = event.data;
      return {
        name: 'vote',
        result: `${vote ?? 'no verdict'} by ${judge} in ${Math.round(cost.milliseconds)} ms${quoted('hint', hint)}`,
      };
    }
    case 'vote.failed':
    case 'vote.expired':
      return {
        name: 'vote',
        result: event.type === 'vote.failed' ? `failed: ${event.data.reason}` : 'expired',
      };
    case 'judgment.reached': {
      const { score, source, hints } = event.data;
      return {
        name: 'judgment',
        result: `${score ?? 'unavailable'} by ${source}${quoted('hint', hints[0])}`,
      };
    }
    case 'sample.ready': {
      const { verdict, tokens } = event.data;
      const { promptIds, responseIds } = tokens;
      return {
        name: 'sample',
        result: `verdict ${rounded(verdict)}, ${promptIds.length} + ${responseIds.length} tokens`,
      };
    }
    case 'sample.dropped':
      return { name: 'sample', result: `dropped: ${event.data.reason}` };
    case 'batch.submitted': {
      const { batchId, samples, parent, settings } = event.data;
      const count = `${samples.length} ${samples.length === 1 ? 'sample' : 'samples'}`;
      return { name: 'batch', result: `${batchId}: ${count}, on v${parent}, method ${settings.method}` };
    }
    case 'policy.trained': {
      const { version, metrics, milliseconds } = event.data;
      const figures = ['loss', 'klToBase', 'gradientNorm'].flatMap((name) =>
        metrics[name] === undefined ? [] : [`${name} ${Number(metrics[name].toPrecision(3))}`],
      );
      const result = [`v${version} in ${(milliseconds / 1000).toFixed(1)} s`, ...figures].join(', ');
      return { name: 'step', result };
    }
    case 'policy.promoted':
      return { name: 'gate', result: `promoted: v${event.data.to} is the head` };
    case 'policy.rejected':
      return { name: 'gate', result: `rejected: ${event.data.reason}, ${event.data.detail}` };
    case 'policy.update-failed':
      return { name: 'step', result: `failed: ${event.data.reason}, ${event.data.detail}` };
    case 'policy.loaded': {
      const { version, milliseconds } = event.data;
      return version === 0
        ? undefined
        : { name: 'loaded', result: `v${version} answers, ${Math.round(milliseconds)} ms to load` };
    }
    default:
      return undefined;
  }
}

const quoted = (what: string, text: string | undefined): string =>
  text === undefined ? '' : `, ${what} "${excerpt(text, 60)}"`;
