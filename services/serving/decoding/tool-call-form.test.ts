import { expect, test } from 'vitest';
import { createChatTemplate } from '../../../shared/policy/text/chat-template.ts';
import { toolCallForm } from './tool-call-form.ts';

const templateWith = (words: string) =>
  createChatTemplate(
    `{% if tools %}{% for tool in tools %}{{ tool | tojson }}{% endfor %}${words}{% endif %}{{ messages[0].content }}`,
  );

test('the form is the one that the template describes', () => {
  expect(toolCallForm(templateWith('Answer with {"name": function name, "parameters": dictionary}.'))).toBe(
    'bare',
  );
  expect(toolCallForm(templateWith('Write <tool_call>{"name": .., "parameters": ..}</tool_call>.'))).toBe(
    'tagged',
  );
  expect(toolCallForm(createChatTemplate('{{ messages[0].content }}'))).toBe('tagged');
  expect(toolCallForm(createChatTemplate('{{ raise_exception("no tools") }}'))).toBe('tagged');
});
