import { ServingError } from '../../errors.ts';
import { DOCUMENT_PLACEHOLDER, IMAGE_PLACEHOLDER, type Omissions } from '../request/omissions.ts';
import type { Block } from './fields.ts';

export type TextPart = { readonly type: 'text'; readonly text: string };

/** Blocks about tools and models of the server that wrote them. */
const foreignTypes: ReadonlySet<string> = new Set([
  'server_tool_use',
  'mcp_tool_use',
  'mcp_tool_listing',
  'tool_reference',
  'tool_addition',
  'tool_removal',
  'browser_state',
  'fallback',
]);
/** `web_search_tool_result`, `mcp_tool_result`: each tool of a server has its own type. */
const foreignResult = /^[a-z_]{1,60}_tool_result$/;

/**
 * The texts of a block; none if it is left out.
 * @throws ServingError UNSUPPORTED_PARAMETER for content that is not text, INVALID_REQUEST
 */
export function blockTexts(block: Block, param: string, omissions: Omissions): readonly TextPart[] {
  const { type, content } = block;
  if (type === 'document') return [documentPart(block, param, omissions)];
  if (type === 'search_result') return [tagged(block, joinedTexts(content, `${param}.content`, omissions))];
  if (type === 'container_upload') return [documentPlaceholder(param, type, omissions)];
  if (type === 'compaction' && typeof content === 'string') return [textOf(content)];
  if (type !== 'compaction' && !foreignTypes.has(type) && !foreignResult.test(type))
    return [plainPart(block, param, omissions)];
  omissions.foreign(param, type);
  return [];
}

export const isBlock = (value: unknown): value is Block =>
  typeof value === 'object' && value !== null && typeof (value as Block).type === 'string';

const textOf = (text: string): TextPart => ({ type: 'text', text });

/** Judges read text inside tags as a quotation; without them it would count as the person's own words. */
const tagged = (block: Block, text: string): TextPart => {
  const about = [block.title, block.context, block.source].filter((one) => typeof one === 'string');
  return textOf(`<${block.type}>\n${[...about, text].join('\n')}\n</${block.type}>\n`);
};

function documentPart(block: Block, param: string, omissions: Omissions): TextPart {
  const { type, source } = block;
  const invalid = (at: string, requires: string) =>
    ServingError.INVALID_REQUEST({ param: at, detail: `${at}: ${requires}.` });
  if (!isBlock(source)) throw invalid(param, 'a document requires a source with a type');
  switch (source.type) {
    case 'text':
      if (typeof source.data !== 'string')
        throw invalid(`${param}.source`, 'a source of type text requires data');
      return tagged(block, source.data);
    case 'content':
      return tagged(block, joinedTexts(source.content, `${param}.source.content`, omissions));
    case 'base64':
    case 'url':
    case 'file':
      return documentPlaceholder(param, type, omissions);
    default: {
      const detail = `documents with a source of type ${source.type.slice(0, 40)}.`;
      throw ServingError.UNSUPPORTED_PARAMETER({ param: `${param}.source`, detail });
    }
  }
}

function documentPlaceholder(param: string, type: string, omissions: Omissions): TextPart {
  omissions.file(param, type);
  return textOf(DOCUMENT_PLACEHOLDER);
}

/** The texts inside a block, which contains no further ones. */
function joinedTexts(content: unknown, param: string, omissions: Omissions): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content) || !content.every(isBlock))
    throw ServingError.INVALID_REQUEST({ param, detail: `${param}: expected text or text blocks.` });
  return content.map((block, at) => plainPart(block, `${param}.${at}`, omissions).text).join('\n');
}

function plainPart({ type, text }: Block, param: string, omissions: Omissions): TextPart {
  if (type === 'image') {
    omissions.file(param, type);
    return textOf(IMAGE_PLACEHOLDER);
  }
  if (type !== 'text') {
    const detail = `blocks of type ${type.slice(0, 40)}; only text is supported.`;
    throw ServingError.UNSUPPORTED_PARAMETER({ param, detail });
  }
  if (typeof text !== 'string')
    throw ServingError.INVALID_REQUEST({ param, detail: `${param}: a text block requires a text.` });
  return textOf(text);
}
