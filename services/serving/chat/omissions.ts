import { ServingError } from '../errors.ts';

/** Something of a request that is left out of it. */
export type Omission = {
  readonly kind: 'field' | 'tool' | 'image';
  /** As the answer names it: `client_metadata`, `tools[1]: web_search`. */
  readonly named: string;
};

/** What is left out rather than refused. */
export type Tolerance = {
  readonly strictFields: boolean;
  readonly images: 'placeholder' | 'refuse';
};

/** What of one request is left out; each is told once. */
export type Omissions = {
  /** A field that is not known. @throws ServingError UNSUPPORTED_PARAMETER where those are refused */
  readonly field: (param: string, detail?: string) => void;
  /** A tool that a server would run. @throws ServingError UNSUPPORTED_PARAMETER where those are refused */
  readonly tool: (param: string, type: string) => void;
  /** @throws ServingError UNSUPPORTED_PARAMETER where images are refused */
  readonly image: (param: string, type: string) => void;
  readonly all: () => readonly Omission[];
};

/** What stands in an image's place: it has the same text in each request, so that a history keeps its hash. */
export const IMAGE_PLACEHOLDER = '[image]';

/** Characters of a name that a client made up. */
const LONGEST_NAME = 200;
const LONGEST_TYPE = 40;
/** Those that an answer names; a history may hold many images. */
const MOST_NAMED = 64;

export const lenient: Tolerance = { strictFields: false, images: 'placeholder' };

export function createOmissions({ strictFields, images }: Tolerance = lenient): Omissions {
  const all: Omission[] = [];
  const note = (kind: Omission['kind'], named: string) => {
    if (all.length < MOST_NAMED) all.push({ kind, named });
  };
  const refuse = (param: string, detail: string): never => {
    throw ServingError.UNSUPPORTED_PARAMETER({ param, detail });
  };
  return {
    field: (given, detail = 'there is no such field.') => {
      const param = given.slice(0, LONGEST_NAME).toWellFormed();
      if (strictFields) refuse(param, detail);
      note('field', param);
    },
    tool: (param, given) => {
      const type = given.slice(0, LONGEST_TYPE).toWellFormed();
      if (strictFields) refuse(`${param}.type`, `no server runs tools of type ${type} here.`);
      note('tool', `${param}: ${type}`);
    },
    image: (param, type) => {
      if (images === 'refuse') refuse(param, `parts of type ${type}; text only.`);
      note('image', `${param}: ${type}`);
    },
    all: () => all,
  };
}

/** What an answer and its fact say of it; nothing where all was read. */
export const ignoredIn = (omissions: readonly Omission[]): { readonly ignored?: readonly string[] } =>
  omissions.length === 0 ? {} : { ignored: omissions.map(({ named }) => named) };
