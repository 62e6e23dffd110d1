// The parts of the DOM that functions in a page use. The project compiles without the DOM's own types, since those
// would let code of a server use `document` or `window` unnoticed.

export type Box = {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
};

export type PageNode = {
  readonly nodeType: number;
  readonly textContent: string | null;
  readonly parentElement: PageElement | null;
  readonly childNodes: Iterable<PageNode>;
  readonly isConnected: boolean;
};

export type PageElement = PageNode & {
  readonly tagName: string;
  readonly id: string;
  readonly children: { readonly length: number };
  readonly labels?: Iterable<PageNode> | null;
  /** the control that a label names */
  readonly control?: PageElement | null;
  readonly type?: string;
  readonly value?: unknown;
  readonly checked?: boolean;
  readonly disabled?: boolean;
  readonly options?: Iterable<{ readonly text: string; readonly selected: boolean }>;
  /** of a select element: it takes several options */
  readonly multiple?: boolean;
  readonly isContentEditable?: boolean;
  readonly scrollTop: number;
  readonly scrollHeight: number;
  readonly clientHeight: number;
  readonly getAttribute: (name: string) => string | null;
  readonly matches: (selector: string) => boolean;
  readonly querySelector: (selector: string) => PageElement | null;
  readonly closest: (selector: string) => PageElement | null;
  readonly contains: (other: PageNode | null) => boolean;
  readonly getClientRects: () => Iterable<Box>;
  readonly scrollIntoView: (options: object) => void;
};

type TextRange = {
  readonly selectNodeContents: (node: PageNode) => void;
  readonly getClientRects: () => Iterable<Box>;
};

export type PageDocument = {
  readonly body: PageElement;
  readonly activeElement: PageElement | null;
  readonly createRange: () => TextRange;
  readonly elementFromPoint: (x: number, y: number) => PageElement | null;
  readonly addEventListener: (name: 'scroll', listener: () => void, options: object) => void;
};

export type ComputedStyle = {
  readonly display: string;
  readonly visibility: string;
  readonly overflowY: string;
  readonly pointerEvents: string;
};
