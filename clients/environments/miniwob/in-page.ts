import type { Box, ComputedStyle, PageDocument, PageElement, PageNode } from './dom.ts';

// These functions run in the page: the browser gets their source, so they use nothing but each other and the DOM.

declare const document: PageDocument;
declare const getComputedStyle: (element: PageElement) => ComputedStyle;

/** An element of the page as the policy may see it. Absent members are false or empty. */
export type ShownElement = {
  /** stays the same as long as the page keeps the element */
  readonly ref: number;
  /** `text` is a piece of text between elements */
  readonly tag: string;
  readonly type?: string;
  /** what the page shows as its text or label; without one, its class */
  readonly text?: string;
  readonly className?: string;
  readonly value?: string;
  readonly options?: readonly string[];
  /** such as checked or focused */
  readonly states: readonly string[];
  /** px above the visible part, and at most, of an element that scrolls */
  readonly scroll?: readonly [at: number, most: number];
};

/** Where to click, in CSS px of the viewport, or why not. */
type Spot = { readonly x: number; readonly y: number } | 'unknown' | 'hidden' | 'covered';

/** Lives in a page for as long as its episode. */
export type PageView = {
  readonly list: () => readonly ShownElement[];
  /** Computes where everything is. */
  readonly layOut: () => void;
  readonly spot: (ref: number) => Spot;
  /** how the element takes text: typed, or as a value such as a date; undefined: not at all */
  readonly takesText: (ref: number) => 'typed' | 'value' | undefined;
  /** the indices to choose in a select element for this option to be chosen; undefined: it has no such option */
  readonly choice: (ref: number, option: string) => readonly number[] | undefined;
  /** Call before the wheel turns over the element: from then on `scrolled` waits for the page to move. */
  readonly expectScroll: (ref: number, direction: 'up' | 'down') => void;
  /** resolves when the page has moved, or at once where nothing can move */
  readonly scrolled: () => Promise<void>;
  /** the element itself, of a text its parent; undefined: the page has it no longer */
  readonly element: (ref: number) => PageElement | undefined;
};

function collapsed(text: string | null | undefined): string {
  return (text ?? '').replace(/\s+/g, ' ').trim();
}

function isElement(node: PageNode): node is PageElement {
  return node.nodeType === 1;
}

function boxesOf(node: PageNode): readonly Box[] {
  const range = document.createRange();
  if (!isElement(node)) range.selectNodeContents(node);
  const boxes = [...(isElement(node) ? node : range).getClientRects()];
  return boxes.filter(({ width, height }) => width > 0 && height > 0);
}

function isVisible(node: PageNode): boolean {
  const element = isElement(node) ? node : node.parentElement;
  return element !== null && getComputedStyle(element).visibility === 'visible' && boxesOf(node).length > 0;
}

/** A control that is shown in one line, with all that it contains. */
function isWhole(element: PageElement): boolean {
  const controls =
    'a, button, input, select, textarea, summary, [role=tab], [role=button], [role=link], [role=menuitem], [role=option]';
  return element.matches(controls) && element.querySelector(controls) === null;
}

function scrollOf(element: PageElement): readonly [number, number] | undefined {
  const most = element.scrollHeight - element.clientHeight;
  const scrolls = /auto|scroll/.test(getComputedStyle(element).overflowY);
  return scrolls && most > 1 ? [Math.round(element.scrollTop), most] : undefined;
}

/** Whether a wheel over the element moves it or an element around it. */
function canScroll(element: PageElement, direction: 'up' | 'down'): boolean {
  const [at, most] = scrollOf(element) ?? [0, 0];
  if (direction === 'down' ? at < most : at > 0) return true;
  return element.parentElement !== null && canScroll(element.parentElement, direction);
}

/** The name of an element in its page: its labels, otherwise its text, otherwise its attributes. */
function textOf(element: PageElement): string {
  const labels = [...(element.labels ?? [])].map((label) => collapsed(label.textContent)).join(' ');
  const own = element.matches('select, textarea') ? '' : collapsed(element.textContent);
  const button = element.matches('input[type=submit], input[type=button], input[type=reset]');
  const attributes = ['aria-label', 'placeholder', 'title', 'alt'].map((name) =>
    collapsed(element.getAttribute(name)),
  );
  return [labels, own, button ? String(element.value) : '', ...attributes].find(Boolean) ?? '';
}

function typedValue(element: PageElement): string | undefined {
  if (!element.matches('input, textarea')) return undefined;
  if (element.matches('[type=checkbox], [type=radio], [type=submit], [type=button], [type=reset]'))
    return undefined;
  const value = String(element.value ?? '');
  return element.matches('[type=password]') ? '•'.repeat(value.length) : value;
}

function statesOf(element: PageElement): readonly string[] {
  const says = (name: string) => element.getAttribute(`aria-${name}`) === 'true';
  const states: readonly (readonly [string, boolean])[] = [
    ['checked', element.checked === true || says('checked')],
    ['selected', element.closest('[aria-selected=true]') !== null],
    ['expanded', says('expanded')],
    ['disabled', element.disabled === true || says('disabled')],
    ['focused', document.activeElement === element && element !== document.body],
  ];
  return states.filter(([, holds]) => holds).map(([name]) => name);
}

function shown(element: PageElement, ref: number, text: string): ShownElement {
  const className = text === '' ? collapsed(element.getAttribute('class')) : '';
  const value = typedValue(element);
  const options = element.options && [...element.options];
  const scroll = scrollOf(element);
  return {
    ref,
    tag: element.tagName.toLowerCase(),
    states: statesOf(element),
    ...(element.matches('input') ? { type: element.type ?? 'text' } : {}),
    ...(text === '' ? {} : { text }),
    ...(className === '' ? {} : { className }),
    ...(value === undefined ? {} : { value }),
    ...(scroll === undefined ? {} : { scroll }),
    ...(options === undefined
      ? {}
      : {
          options: options.map((option) => collapsed(option.text)),
          value: options
            .filter(({ selected }) => selected)
            .map((option) => collapsed(option.text))
            .join(', '),
        }),
  };
}

/** Collects what a person would see below an element, in the order of the document. */
function collect(element: PageElement, refOf: (node: PageNode) => number, found: ShownElement[]): void {
  const ownParts = 'script, style, #query, #reward-display, #sync-task-cover, #click-canvas';
  if (element.matches(ownParts) || getComputedStyle(element).display === 'none') return;
  const isLeaf = element.children.length === 0;
  const isLook = element.matches('[id], [class], img, canvas, svg *');
  const isListed = isWhole(element) || (isLeaf && (isLook || collapsed(element.textContent) !== ''));
  // The text of a label is shown as the name of its control.
  const named = element.tagName === 'LABEL' ? element.control : undefined;
  const isName = named !== undefined && named !== null && isVisible(named);
  if (!isName && isVisible(element)) {
    if (isListed) found.push(shown(element, refOf(element), textOf(element)));
    else if (scrollOf(element) !== undefined) found.push(shown(element, refOf(element), ''));
  }
  if (isListed) return;
  for (const node of element.childNodes) {
    if (isElement(node)) collect(node, refOf, found);
    else if (!isName && node.nodeType === 3 && collapsed(node.textContent) !== '' && isVisible(node))
      found.push({ ref: refOf(node), tag: 'text', text: collapsed(node.textContent), states: [] });
  }
}

/** Whether a click at this point reaches the node. */
function isReached(node: PageNode, x: number, y: number): boolean {
  const element = isElement(node) ? node : node.parentElement!;
  const top = document.elementFromPoint(x, y);
  if (top === null) return false;
  if (element.contains(top)) return isElement(node) || top === element;
  return getComputedStyle(element).pointerEvents === 'none' && top.contains(element);
}

/** The centre of the node, or the point nearest to it where nothing covers the node. */
function reachedSpot(node: PageNode): Spot | undefined {
  const steps = [0, 1, 2, 3, 4, 5, 6];
  for (const { left, top, width, height } of boxesOf(node)) {
    // px from the edge, so that the last pixel counts
    const at = (from: number, size: number, step: number) => from + 1 + ((size - 2) * step) / 6;
    const points = steps.flatMap((column) =>
      steps.map((row) => ({
        x: at(left, width, column),
        y: at(top, height, row),
        far: Math.abs(column - 3) + Math.abs(row - 3),
      })),
    );
    points.sort((a, b) => a.far - b.far);
    const point = points.find(({ x, y }) => isReached(node, x, y));
    if (point !== undefined) return { x: point.x, y: point.y };
  }
  return undefined;
}

function textForm(element: PageElement): 'typed' | 'value' | undefined {
  if (element.matches('textarea') || element.isContentEditable === true) return 'typed';
  if (!element.matches('input')) return undefined;
  const type = element.type ?? 'text';
  if (/^(text|search|email|password|tel|url|number)$/.test(type)) return 'typed';
  return /^(color|date|datetime-local|month|range|time|week)$/.test(type) ? 'value' : undefined;
}

function choiceIn(element: PageElement, option: string): readonly number[] | undefined {
  const options = [...(element.options ?? [])];
  const index = options.findIndex(({ text }) => collapsed(text) === collapsed(option));
  if (index < 0) return undefined;
  const chosen = options.flatMap(({ selected }, at) => (selected ? [at] : []));
  return element.multiple === true ? [...chosen, index] : [index];
}

function createView(): PageView {
  const refs = new Map<PageNode, number>();
  const nodes: PageNode[] = [];
  const refOf = (node: PageNode): number => {
    const ref = refs.get(node) ?? nodes.push(node);
    refs.set(node, ref);
    return ref;
  };
  const known = (ref: number): PageNode | undefined =>
    nodes[ref - 1]?.isConnected ? nodes[ref - 1] : undefined;
  const elementOf = (node: PageNode) => (isElement(node) ? node : node.parentElement!);
  let scrolled = Promise.resolve();
  return {
    list: () => {
      const found: ShownElement[] = [];
      collect(document.body, refOf, found);
      return found;
    },
    layOut: () => void boxesOf(document.body),
    spot: (ref) => {
      const node = known(ref);
      if (node === undefined) return 'unknown';
      if (!isVisible(node)) return 'hidden';
      const spot = reachedSpot(node);
      if (spot !== undefined) return spot;
      elementOf(node).scrollIntoView({ block: 'center', inline: 'center', behavior: 'instant' });
      return reachedSpot(node) ?? 'covered';
    },
    takesText: (ref) => {
      const node = known(ref);
      return node && isElement(node) ? textForm(node) : undefined;
    },
    choice: (ref, option) => {
      const node = known(ref);
      return node && isElement(node) ? choiceIn(node, option) : undefined;
    },
    expectScroll: (ref, direction) => {
      const node = known(ref);
      scrolled =
        node === undefined || !canScroll(elementOf(node), direction)
          ? Promise.resolve()
          : new Promise((resolve) =>
              document.addEventListener('scroll', () => resolve(), { capture: true, once: true }),
            );
    },
    scrolled: () => scrolled,
    element: (ref) => {
      const node = known(ref);
      return node && elementOf(node);
    },
  };
}

const parts = [
  collapsed,
  isElement,
  boxesOf,
  isVisible,
  isWhole,
  scrollOf,
  canScroll,
  textOf,
  typedValue,
  statesOf,
  shown,
  collect,
  isReached,
  reachedSpot,
  textForm,
  choiceIn,
  createView,
];

/** A script that evaluates to a PageView. */
export const viewScript = `(() => { ${parts.map(String).join('\n')}\nreturn createView(); })()`;
