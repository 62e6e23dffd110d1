import { defined } from '../../../../shared/lang/defined.ts';
import { plainPrompt, type ReservedTokens } from '../../../../shared/policy/text/plain-prompt.ts';
import { plainText } from '../../../../shared/policy/text/plain-text.ts';
import type { PromptParts } from '../../generation.ts';
import type { UpstreamDialect } from './exchange.ts';

/**
 * For a server that renders prompts itself, with the model's chat template: removes control tokens from the
 * client's texts, so that the trainer renders the same prompt.
 *
 * @param tokens control tokens of the model; undefined if the model is not on this machine
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
      ...defined({ forcedCall: forcedCall?.map(plainName) }),
    };
  };
  const { prepare, countTokens } = dialect;
  return {
    ...dialect,
    prepare: (request, lease) => prepare(plainRequest(request), lease),
    ...defined({ countTokens: countTokens && ((parts: PromptParts) => countTokens(plainRequest(parts))) }),
  };
}
