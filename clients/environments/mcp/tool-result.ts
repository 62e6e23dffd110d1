import { z } from 'zod';

/** A tool's result in the form for the policy. */
export type Shown = { readonly content: string; readonly isError: boolean };

// Kinds of content that a later revision of MCP adds are named, not refused.
const Part = z.looseObject({
  type: z.string(),
  text: z.string().optional(),
  mimeType: z.string().optional(),
  uri: z.string().optional(),
  resource: z.looseObject({ uri: z.string(), text: z.string().optional() }).optional(),
});
const ToolResult = z.looseObject({
  content: z.array(Part).default([]),
  structuredContent: z.unknown().optional(),
  isError: z.boolean().default(false),
});

/** characters; what is longer would fill the context of any model */
const LONGEST = 100_000;

/**
 * A result of `tools/call` as text: its texts and text resources; other content by its kind. Structured content is
 * shown if there is nothing else, since servers repeat it as text.
 *
 * @throws ZodError when it has another form
 */
export function shownResult(result: unknown): Shown {
  const { content, structuredContent, isError } = ToolResult.parse(result);
  const structured = structuredContent === undefined ? '' : JSON.stringify(structuredContent);
  const text = content.map(textOf).join('\n') || structured || '[no content]';
  return {
    content:
      text.length <= LONGEST ? text : `${text.slice(0, LONGEST)}\n[${text.length - LONGEST} characters cut]`,
    isError,
  };
}

function textOf({ type, text, mimeType, uri, resource }: z.output<typeof Part>): string {
  const shown = text ?? resource?.text;
  if (shown !== undefined) return shown;
  return `[${[type, resource?.uri ?? uri, mimeType].filter(Boolean).join(' ')}]`;
}
