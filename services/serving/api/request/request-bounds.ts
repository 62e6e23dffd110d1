// Bounds on the number of parts of a request, and on the length of texts that are compared with each token or tool.

export const MOST_MESSAGES = 20_000;
/** Parts of one message's content. */
export const MOST_PARTS = 10_000;
/** Calls of one message. */
export const MOST_CALLS = 1_024;
export const MOST_TOOLS = 1_024;
export const MOST_BIASES = 1_024;
/** Characters. */
export const LONGEST_MODEL = 256;
export const LONGEST_TOOL_NAME = 512;
export const LONGEST_STOP = 1_024;
