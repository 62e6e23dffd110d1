import { z } from 'zod';

export type DecodeOptions = {
  /** Leaves out tokens marked special (`<|im_end|>`, `<s>`). Default false. */
  readonly skipSpecial?: boolean;
};

/** Decodes one id at a time; incomplete characters are buffered. */
export type StreamDecoder = {
  /** The text that this id completes; '' in the middle of a character. */
  push(id: number): string;
  /** The end of the text: U+FFFD for an incomplete character, else ''. */
  flush(): string;
};

type TokenDecoder = {
  decode(ids: readonly number[], options?: DecodeOptions): string;
  stream(options?: DecodeOptions): StreamDecoder;
  /** The bytes of one token in the middle of a text; none for a special token. */
  bytesOf(id: number): Uint8Array;
};

/**
 * A token as bytes; `single` marks a byte-fallback token (`<0xE2>`), whose byte need not be a character by
 * itself.
 */
type Piece = { readonly bytes: Uint8Array; readonly single: boolean };

/** How the decoder converts a token to bytes, and what it strips from the start of the text. */
type Scheme = {
  readonly piece: (token: string) => Piece;
  readonly strip: { readonly content: string; readonly most: number };
};

type DecoderVocabulary = {
  /**
   * Undefined for an id outside the vocabulary, such as a padding row of the embedding: it decodes to
   * nothing.
   */
  readonly token: (id: number) => string | undefined;
  readonly isSpecial: (id: number) => boolean;
};

/**
 * Builds a decoder from the `decoder` entry of a tokenizer.json: ByteLevel (GPT-2, Llama 3, Qwen), or a
 * Sequence of Replace, ByteFallback, Fuse and Strip (SentencePiece). Throws for other kinds.
 *
 * Bytes that are not UTF-8 become U+FFFD as in the WHATWG TextDecoder. As in the reference implementation, `decode`
 * turns a broken run of byte-fallback tokens into one U+FFFD per token; a stream cannot, because it does not know
 * the rest of the run.
 */
export function createTokenDecoder(config: unknown, vocabulary: DecoderVocabulary): TokenDecoder {
  const scheme = readScheme(config);
  const pieces = new Map<number, Piece>();
  const pieceOf = (id: number): Piece => {
    const known = pieces.get(id);
    if (known !== undefined) return known;
    const token = vocabulary.token(id);
    const piece = token === undefined ? { bytes: new Uint8Array(0), single: false } : scheme.piece(token);
    pieces.set(id, piece);
    return piece;
  };
  const kept = (id: number, options: DecodeOptions) =>
    !(options.skipSpecial === true && vocabulary.isSpecial(id));

  return {
    decode(ids, options = {}) {
      const text = joinPieces(ids.filter((id) => kept(id, options)).map(pieceOf));
      return stripper(scheme.strip)(text);
    },
    stream(options = {}) {
      const utf8 = newUtf8Decoder();
      const strip = stripper(scheme.strip);
      return {
        push: (id) => (kept(id, options) ? strip(utf8.decode(pieceOf(id).bytes, { stream: true })) : ''),
        flush: () => strip(utf8.decode()),
      };
    },
    bytesOf: (id) => (vocabulary.isSpecial(id) ? new Uint8Array(0) : pieceOf(id).bytes),
  };
}

/** Not fatal, so that broken bytes become U+FFFD; U+FEFF at the start is text, not a byte order mark. */
const newUtf8Decoder = () => new TextDecoder('utf-8', { ignoreBOM: true });

function joinPieces(pieces: readonly Piece[]): string {
  let text = '';
  for (let start = 0; start < pieces.length; ) {
    const { single } = pieces[start]!;
    let end = start + 1;
    while (end < pieces.length && pieces[end]!.single === single) end++;
    const bytes = Buffer.concat(pieces.slice(start, end).map((piece) => piece.bytes));
    text += single ? decodeByteRun(bytes) : newUtf8Decoder().decode(bytes);
    start = end;
  }
  return text;
}

function decodeByteRun(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return '\uFFFD'.repeat(bytes.length);
  }
}

/** Removes up to `most` times `content` from the start of a text that comes in parts. */
function stripper({ content, most }: Scheme['strip']): (part: string) => string {
  let left = most;
  return (part) => {
    let from = 0;
    while (left > 0 && from < part.length) {
      if (part.startsWith(content, from)) {
        from += content.length;
        left--;
      } else left = 0;
    }
    return part.slice(from);
  };
}

const Step = z.discriminatedUnion('type', [
  z.object({ type: z.literal('Replace'), pattern: z.object({ String: z.string() }), content: z.string() }),
  z.object({ type: z.literal('ByteFallback') }),
  z.object({ type: z.literal('Fuse') }),
  z.object({ type: z.literal('Strip'), content: z.string().length(1), start: z.int(), stop: z.literal(0) }),
]);
const DecoderConfig = z.discriminatedUnion('type', [
  z.object({ type: z.literal('ByteLevel') }),
  z.object({ type: z.literal('Sequence'), decoders: z.array(Step) }),
]);

function readScheme(config: unknown): Scheme {
  const parsed = DecoderConfig.safeParse(config);
  if (!parsed.success)
    throw new Error(`tokenizer.json: unsupported decoder: ${z.prettifyError(parsed.error)}`);
  if (parsed.data.type === 'ByteLevel') return { piece: byteLevelPiece, strip: { content: ' ', most: 0 } };

  const steps = parsed.data.decoders;
  const at = (type: string) => steps.findIndex((step) => step.type === type);
  if (at('Strip') !== -1 && (at('Fuse') === -1 || at('Fuse') > at('Strip'))) {
    throw new Error('tokenizer.json: unsupported decoder: Strip before Fuse works on each token by itself');
  }
  const strip = steps.find((step) => step.type === 'Strip');
  const replacements = steps.filter((step) => step.type === 'Replace');
  const byteFallback = at('ByteFallback') !== -1;
  return {
    piece(token) {
      const byte = byteFallback ? /^<0x([0-9A-Fa-f]{2})>$/.exec(token)?.[1] : undefined;
      if (byte !== undefined) return { bytes: Uint8Array.of(Number.parseInt(byte, 16)), single: true };
      const text = replacements.reduce(
        (all, { pattern, content }) => all.replaceAll(pattern.String, content),
        token,
      );
      return { bytes: new TextEncoder().encode(text), single: false };
    },
    strip: { content: strip?.content ?? ' ', most: strip?.start ?? 0 },
  };
}

/**
 * The printable character that represents each byte in byte-level vocabularies (GPT-2's table): printable Latin-1
 * characters represent themselves, other bytes are U+0100 and up, in order.
 */
export const byteLevelAlphabet: readonly string[] = (() => {
  const printable = (byte: number) => (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte !== 0xad);
  let next = 0x100;
  return Array.from({ length: 256 }, (_, byte) => String.fromCodePoint(printable(byte) ? byte : next++));
})();

const byteOfCharacter = new Map(byteLevelAlphabet.map((character, byte) => [character, byte]));

/**
 * A token with a character outside the table (an added token such as `<é>`) represents its own UTF-8 bytes.
 */
function byteLevelPiece(token: string): Piece {
  const bytes = Array.from(token, (character) => byteOfCharacter.get(character));
  const known = bytes.every((byte) => byte !== undefined);
  return { bytes: known ? Uint8Array.from(bytes) : new TextEncoder().encode(token), single: false };
}
