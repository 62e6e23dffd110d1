import { type AnyNode, type BinaryExpression, type LogicalExpression, parse } from 'acorn';
import { ancestor } from 'acorn-walk';
import type { Edit } from './edit.ts';

const FLIPPED: Readonly<Record<string, string>> = {
  '===': '!==',
  '!==': '===',
  '==': '!=',
  '!=': '==',
  '<': '>=',
  '>': '<=',
  '<=': '>',
  '>=': '<',
};
const OFF_BY_ONE: Readonly<Record<string, string>> = { '<': '<=', '<=': '<', '>': '>=', '>=': '>' };
const CHANGED: Readonly<Record<string, string>> = {
  '+': '-',
  '-': '+',
  '*': '+',
  '/': '*',
  '%': '/',
  '&': '|',
  '|': '&',
  '&&': '||',
  '||': '&&',
};
const UNORDERED = ['-', '/', '%', '**'];

/** Changes of a JavaScript file, each of which may be a bug. A file that does not parse has none. */
export function javaScriptEdits(file: string, text: string): readonly Edit[] {
  const tree = parsed(text);
  if (tree === undefined) return [];
  const edits: Edit[] = [];
  const lineOf = (place: number) => text.slice(0, place).split('\n').length;
  const add = (modifier: string, { start, end }: { start: number; end: number }, replacement: string) =>
    edits.push({ file, modifier, line: lineOf(start), start, end, replacement });
  const operators = (node: BinaryExpression | LogicalExpression): void => {
    const between = { start: node.left.end, end: node.right.start };
    const source = text.slice(between.start, between.end);
    const place = source.indexOf(node.operator);
    if (/[^()\s]/.test(source.replace(node.operator, ''))) return; // a comment
    const span = { start: between.start + place, end: between.start + place + node.operator.length };
    const put = (modifier: string, operator: string | undefined) =>
      operator !== undefined && add(modifier, span, operator);
    put('flip-comparison', FLIPPED[node.operator]);
    put('off-by-one', OFF_BY_ONE[node.operator]);
    put('change-operator', CHANGED[node.operator]);
    if (UNORDERED.includes(node.operator) && !/[()]/.test(source))
      add('swap-operands', node, sourceOf(text, node.right) + source + sourceOf(text, node.left));
  };
  /** Leaves a statement out. In a block nothing shows its place; elsewhere `;` does. */
  const remove = (modifier: string, node: AnyNode, parent: AnyNode | undefined): void => {
    const start = text.lastIndexOf('\n', node.start - 1) + 1;
    const end = text.indexOf('\n', node.end) + 1;
    const around = text.slice(start, node.start) + text.slice(node.end, end);
    const isWhole = parent?.type === 'BlockStatement' && end > 0 && around.trim() === '';
    if (isWhole) edits.push({ file, modifier, line: lineOf(node.start), start, end, replacement: '' });
    else add(modifier, node, ';');
  };
  const visit = (node: AnyNode, parent: AnyNode | undefined): void => {
    switch (node.type) {
      case 'BinaryExpression':
      case 'LogicalExpression':
        operators(node);
        return;
      case 'Literal':
        if (typeof node.value === 'boolean') add('change-constant', node, String(!node.value));
        else if (/^\d+$/.test(node.raw ?? '')) add('change-constant', node, String(Number(node.raw) + 1));
        return;
      case 'IfStatement':
        if (node.alternate == null) remove('remove-conditional', node, parent);
        add('invert-condition', node.test, `!(${sourceOf(text, node.test)})`);
        return;
      case 'ConditionalExpression':
        add('invert-condition', node.test, `!(${sourceOf(text, node.test)})`);
        return;
      case 'ForStatement':
      case 'ForOfStatement':
      case 'ForInStatement':
      case 'WhileStatement':
        remove('remove-loop', node, parent);
        return;
      case 'ExpressionStatement':
        if (node.expression.type === 'AssignmentExpression') remove('remove-assignment', node, parent);
        return;
    }
  };
  ancestor(tree, nodesInFunctions(visit));
  return edits;
}

type Visitors = Parameters<typeof ancestor>[1];

/** Only the bodies of functions are changed: a changed constant of a module often breaks every test. */
const nodesInFunctions = (visit: (node: AnyNode, parent: AnyNode | undefined) => void): Visitors => {
  const inFunction = (node: AnyNode, _: unknown, ancestors: readonly AnyNode[]): void => {
    if (ancestors.some(({ type }) => /Function/.test(type))) visit(node, ancestors.at(-2));
  };
  const types = [
    'BinaryExpression',
    'LogicalExpression',
    'Literal',
    'IfStatement',
    'ConditionalExpression',
    'ForStatement',
    'ForOfStatement',
    'ForInStatement',
    'WhileStatement',
    'ExpressionStatement',
  ];
  return Object.fromEntries(types.map((type) => [type, inFunction])) as Visitors;
};

const sourceOf = (text: string, { start, end }: { start: number; end: number }): string =>
  text.slice(start, end);

/** As a module, or else as a script. */
function parsed(text: string): AnyNode | undefined {
  for (const sourceType of ['module', 'script'] as const)
    try {
      return parse(text, {
        ecmaVersion: 'latest',
        sourceType,
        allowHashBang: true,
        allowReturnOutsideFunction: true,
      });
    } catch {} // the other kind, or not JavaScript
  return undefined;
}
