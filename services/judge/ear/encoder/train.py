#!/usr/bin/env python3
"""Trains the encoder of the ear on its training messages, and writes encoder.bin and encoder.json.

It starts from all-MiniLM-L6-v2 (Apache-2.0), six layers that were trained on English sentences. The same data, versions
and number of threads give nearly the same weights. Made with Python 3.11, torch 2.15.0 and transformers 5.24.0:

    npm run make:ear -- --examples .ear-examples.jsonl
    python3 -m venv .venv-ear
    .venv-ear/bin/pip install torch==2.15.0 transformers==5.24.0
    .venv-ear/bin/python services/judge/ear/encoder/train.py .ear-examples.jsonl

That takes 12 minutes on two cores with AMX, and some hours without. `--base` names a model of the hub or a folder.
"""
import argparse, hashlib, json, random, re, time
from pathlib import Path

import torch
import torch.nn.functional as F
from transformers import AutoModel, AutoTokenizer

HERE = Path(__file__).parent
LABELS = ["bad", "good", "neither"]
BATCH = 64
LONGEST = 96  # tokens
WARM_UP = 0.06  # share of the steps
RATE = 2e-4
VARIANTS = 0.7  # share of the variants of an English message that train, beside the message itself
OTHERS = 0.3  # share of the messages in other languages, which teach only that they are not English
SHORT = 30  # all of those that have fewer characters train: "trop long" is not English either
NOT_BAD = 1.5  # weight of messages that are no complaints
WISHES = 0.3  # weight of the losses about wishes
GROUP = 64  # embedding values with one scale


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("examples")
    parser.add_argument("--base", default="sentence-transformers/all-MiniLM-L6-v2")
    parser.add_argument("--out", default=str(HERE.parent / "model"))
    parser.add_argument("--epochs", type=float, default=2)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


class Encoder(torch.nn.Module):
    def __init__(self, base, columns):
        super().__init__()
        self.bert = AutoModel.from_pretrained(base)
        self.head = torch.nn.Linear(self.bert.config.hidden_size, columns)

    def forward(self, batch):
        longest = max(map(len, batch))
        ids = torch.zeros(len(batch), longest, dtype=torch.long)
        mask = torch.zeros(len(batch), longest, dtype=torch.long)
        for row, one in enumerate(batch):
            ids[row, : len(one)] = torch.tensor(one)
            mask[row, : len(one)] = 1
        states = self.bert(input_ids=ids, attention_mask=mask).last_hidden_state.float()
        return self.head((states * mask[..., None]).sum(1) / mask.sum(1, keepdim=True))


def choose(examples):
    """Each English message and a share of its variants; a share of the messages in other languages."""
    seen, kept = set(), []
    for one in examples:
        is_first = one["source"] not in seen
        seen.add(one["source"])
        if one["english"] or len(one["text"]) < SHORT:
            share = 1 if is_first else VARIANTS
        else:
            share = OTHERS if is_first else 0
        if random.random() < share:
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


def loss_of(scores, examples, kinds):
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
    return language + (english * (verdict + WISHES * (named + stated))).sum() / english.sum().clamp(min=1)


def train(model, encoded, examples, kinds, epochs):
    # as they are, words that no message has keep their meaning
    model.bert.embeddings.requires_grad_(False)
    optimizer = torch.optim.AdamW([one for one in model.parameters() if one.requires_grad], weight_decay=0.01)
    steps = int(epochs * len(encoded) / BATCH)
    began, total = time.time(), 0.0
    model.train()
    for step, batch in zip(range(steps), batches([len(one) for one in encoded])):
        share = min(1, (step + 1) / (WARM_UP * steps)) * (steps - step) / steps
        for group in optimizer.param_groups:
            group["lr"] = RATE * share
        with torch.autocast("cpu", dtype=torch.bfloat16):
            scores = model([encoded[at] for at in batch])
        loss = loss_of(scores.float(), [examples[at] for at in batch], kinds)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        total += loss.item()
        if (step + 1) % 100 == 0:
            print(f"step {step + 1} of {steps}: loss {total / 100:.3f}, {time.time() - began:.0f} s", flush=True)
            total = 0.0
    model.eval()


def rounded(matrix, bits, group):
    """Whole numbers of `bits` bits, and the value of 1 for each `group` values of a row."""
    most = 2 ** (bits - 1) - 1
    rows, columns = matrix.shape
    parts = matrix.reshape(rows, columns // group, group)
    scales = (parts.abs().amax(-1) / most).clamp(min=1e-12)
    numbers = (parts / scales[..., None]).round().clamp(-most, most)
    return numbers.reshape(rows, columns).to(torch.int8), scales


def round_embeddings(model):
    """Rounds the embeddings before the training, so that the layers learn to do with it."""
    with torch.no_grad():
        words = model.bert.embeddings.word_embeddings.weight
        numbers, scales = rounded(words, 4, GROUP)
        words.copy_((numbers.float().reshape(len(words), -1, GROUP) * scales[..., None]).reshape(words.shape))
    return numbers, scales


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


def write(model, embeddings, tokenizer, kinds, out, about):
    """encoder.bin: embeddings of 4 bits, two in a byte; matrices of 8 bits; all other numbers as f32.

    The model then has the rounded weights too.
    """
    vocabulary = [piece for piece, _ in sorted(tokenizer.get_vocab().items(), key=lambda entry: entry[1])]
    data, parts = bytearray(), []

    def add(name, kind, shape, blob):
        parts.append({"name": name, "kind": kind, "shape": list(shape), "at": len(data)})
        data.extend(blob)

    def floats(name, tensor):
        add(name, "f32", tensor.shape, tensor.detach().float().contiguous().numpy().tobytes())

    with torch.no_grad():
        numbers, scales = embeddings
        pairs = (numbers + 8).to(torch.uint8).reshape(-1, 2)
        add("words", "i4", numbers.shape, (pairs[:, 0] | (pairs[:, 1] << 4)).numpy().tobytes())
        floats("words.scales", scales)
        table = model.bert.embeddings.position_embeddings.weight + model.bert.embeddings.token_type_embeddings.weight[0]
        floats("positions", table[: 2 + LONGEST])
        norms = {"embedding.norm": model.bert.embeddings.LayerNorm}
        for index, layer in enumerate(model.bert.encoder.layer):
            matrices, own = parts_of(layer)
            for name, stacked in matrices.items():
                weight = torch.cat([one.weight for one in stacked])
                numbers, scales = rounded(weight, 8, weight.shape[1])
                add(f"layers.{index}.{name}", "i8", weight.shape, numbers.numpy().tobytes())
                floats(f"layers.{index}.{name}.scales", scales[:, 0])
                floats(f"layers.{index}.{name}.bias", torch.cat([one.bias for one in stacked]))
                for one, part in zip(stacked, (numbers.float() * scales).chunk(len(stacked))):
                    one.weight.copy_(part)
            norms.update({f"layers.{index}.{name}": norm for name, norm in own.items()})
        for name, norm in norms.items():
            floats(f"{name}.weight", norm.weight)
            floats(f"{name}.bias", norm.bias)
        floats("head.weight", model.head.weight)
        floats("head.bias", model.head.bias)
    config = model.bert.config
    card = {
        "format": 1,
        "sizes": {
            "layers": config.num_hidden_layers,
            "hidden": config.hidden_size,
            "heads": config.num_attention_heads,
            "positions": 2 + LONGEST,
        },
        "columns": [*LABELS, *kinds, "wish", "english"],
        "group": GROUP,
        "digest": hashlib.sha256(data).hexdigest(),
        "about": about,
        "parts": parts,
        "vocabulary": vocabulary,
    }
    Path(out, "encoder.bin").write_bytes(data)
    Path(out, "encoder.json").write_text(json.dumps(card, ensure_ascii=False) + "\n")


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
        encoded = [tokenizer(text, truncation=True, max_length=LONGEST)["input_ids"] for text in REFERENCE]
        rows = [
            {"text": text, "ids": ids, "scores": [round(score, 5) for score in model([ids])[0].tolist()]}
            for text, ids in zip(REFERENCE, encoded)
        ]
    (HERE / "reference.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def main():
    given = arguments()
    random.seed(given.seed)
    torch.manual_seed(given.seed)
    header, *rows = map(json.loads, Path(given.examples).read_text().splitlines())
    kinds = header["wishKinds"]
    examples = choose(rows)
    tokenizer = AutoTokenizer.from_pretrained(given.base)
    encoded = [tokenizer(one["text"], truncation=True, max_length=LONGEST)["input_ids"] for one in examples]
    print(f"{len(examples)} examples, {sum(map(len, encoded)) / len(encoded):.1f} tokens each", flush=True)
    model = Encoder(given.base, len(LABELS) + len(kinds) + 2)
    embeddings = round_embeddings(model)
    train(model, encoded, examples, kinds, given.epochs)
    about = {"base": "sentence-transformers/all-MiniLM-L6-v2", "licence": "Apache-2.0", "examples": len(examples)}
    write(model, embeddings, tokenizer, kinds, given.out, about)
    write_reference(model, tokenizer)


if __name__ == "__main__":
    main()
