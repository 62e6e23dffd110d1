import { plainPrompt, type ReservedTokens } from '../../../shared/policy/plain-prompt.ts';
import { plainText } from '../../../shared/policy/plain-text.ts';
import type { PromptParts } from './engine.ts';
import type { UpstreamDialect } from './upstream-exchange.ts';

/**
 * For a server that writes its prompts itself, with the model's chat template: it gets each request without
 * control tokens in the client's texts, as the trainer writes the same prompt again.
 *
 * @param tokens of the model, as they are written; undefined where the model is not here
 */
export function withPlainTexts(
  dialect: UpstreamDialect,
  tokens: ReservedTokens | undefined,
): UpstreamDialect {
  if (tokens === undefined) return dialect;
  const plain = plainPrompt(tokens);
  const plainName = plainText(tokens.controlTokens);
  const plainRequest = <Request extends PromptParts>(request: Request): Request => {
    const { forcedCall } = request;
    const { messages, tools, variables } = plain({ ...request, variables: request.templateVariables });
    return {
      ...request,
      messages,
      tools,
      templateVariables: variables,
      ...(forcedCall === undefined ? {} : { forcedCall: forcedCall.map(plainName) }),
    };
  };
  const { ask, countTokens } = dialect;
  return {
    ...dialect,
    ask: (request, lease) => ask(plainRequest(request), lease),
    ...(countTokens === undefined ? {} : { countTokens: (parts) => countTokens(plainRequest(parts)) }),
  };
}
