import type { Omission } from '../../answer/mark.ts';
import { ServingError } from '../../errors.ts';

/** Which parts of a request are left out instead of refusing the request. */
export type Tolerance = {
  readonly strictFields: boolean;
  readonly images: 'placeholder' | 'refuse';
};

/** Collects what is left out of one request. */
export type Omissions = {
  /** An unknown field. @throws ServingError UNSUPPORTED_PARAMETER with --strict-fields */
  readonly field: (param: string, detail?: string) => void;
  /** A tool that a server would run. @throws ServingError UNSUPPORTED_PARAMETER with --strict-fields */
  readonly tool: (param: string, type: string) => void;
  /** An image or a document. @throws ServingError UNSUPPORTED_PARAMETER with --images refuse */
  readonly file: (param: string, type: string) => void;
  /**
   * Content of a history that only the server that wrote it can use, such as calls of its tools.
   * @throws ServingError UNSUPPORTED_PARAMETER with --strict-fields
   */
  readonly foreign: (param: string, type: string) => void;
  readonly all: () => readonly Omission[];
};

// Texts in place of what the policy cannot read. They are the same in each request, so the hash of a history does
// not change.
export const IMAGE_PLACEHOLDER = '[image]';
export const DOCUMENT_PLACEHOLDER = '[document]';
/** For a message of nothing but content of another server's tools. */
export const TOOL_PLACEHOLDER = '[tool]';

/** Characters of a client's field name. */
const LONGEST_NAME = 200;
const LONGEST_TYPE = 40;
/** Omissions that an answer names; a history may contain many images. */
const MOST_NAMED = 64;

export const lenient: Tolerance = { strictFields: false, images: 'placeholder' };

export function createOmissions({ strictFields, images }: Tolerance = lenient): Omissions {
  const all: Omission[] = [];
  const note = (kind: Omission['kind'], name: string) => {
    if (all.length < MOST_NAMED) all.push({ kind, name });
  };
  const refuse = (param: string, detail: string): never => {
    throw ServingError.UNSUPPORTED_PARAMETER({ param, detail });
  };
  return {
    field: (name, detail = 'unknown field.') => {
      const param = name.slice(0, LONGEST_NAME).toWellFormed();
      if (strictFields) refuse(param, detail);
      note('field', param);
    },
    tool: (param, toolType) => {
      const type = toolType.slice(0, LONGEST_TYPE).toWellFormed();
      if (strictFields) refuse(`${param}.type`, `this server runs no tools of type ${type}.`);
      note('tool', `${param}: ${type}`);
    },
    file: (param, type) => {
      if (images === 'refuse') refuse(param, `parts of type ${type}; only text is supported.`);
      note('image', `${param}: ${type}`);
    },
    foreign: (param, type) => {
      if (strictFields) refuse(param, `only another server can use content of type ${type}.`);
      note('tool', `${param}: ${type}`);
    },
    all: () => all,
  };
}
